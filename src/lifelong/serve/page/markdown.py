"""Render a document's Markdown as safe HTML: no HTML of its own, no images, links only to the web.

Citations become links to the records, `[[targets]]` links to documents, and facts that ended are struck out.
Render rules return a plain str: a `Markup` would escape the HTML that it is added to.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML, RendererProtocol
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup

from lifelong.organize.facts import Fact, parse_fact

Url: TypeAlias = Callable[..., str]
Resolve: TypeAlias = Callable[[str], str | None]
Actions: TypeAlias = Callable[[Fact], str]

_SAFE = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
_CITATION = re.compile(r"\[[^\[\]\n]*\]")
_TARGET = re.compile(r"\[\[([^\[\]|\n]+)(?:\|([^\[\]\n]*))?\]\]")


def render(body: str, url: Url, resolve: Resolve, actions: Actions | None = None) -> Markup:
    """Return the HTML. `url` makes an address on the page; `resolve` gives the id of what a `[[target]]` names;
    `actions` gives the HTML of the buttons that follow a fact."""
    return Markup(_MARKDOWN.render(body, {"url": url, "resolve": resolve, "actions": actions}))


def _citation(state: StateInline, silent: bool) -> bool:
    found = _CITATION.match(state.src, state.pos)
    fact = parse_fact(f"x {found[0]}") if found else None
    if not found or not fact:
        return False
    if not silent:
        state.push("citation", "", 0).meta = {"fact": fact}
    state.pos = found.end()
    return True


def _target(state: StateInline, silent: bool) -> bool:
    found = _TARGET.match(state.src, state.pos)
    if not found:
        return False
    if not silent:
        token = state.push("target", "", 0)
        token.content, token.meta = found[2] or found[1], {"target": found[1]}
    state.pos = found.end()
    return True


def _mark_facts(state: StateCore) -> None:
    """Strike out the text of facts that ended, but not their citations; after each fact comes what can be done
    with it."""
    facts: dict[int, Fact] = {}
    for at, opening in enumerate(state.tokens[:-1]):
        inline = state.tokens[at + 1]
        fact = parse_fact(inline.content) if opening.type == "paragraph_open" and inline.type == "inline" else None
        if not fact or not inline.children or inline.children[-1].type != "citation":
            continue
        facts[at + 2] = fact
        marked = state.tokens[at - 1] if opening.hidden else opening  # a list item has no paragraph of its own
        marked.attrSet("class", "fact" if fact.current else "fact ended")
        if not fact.current:
            struck = [Token("s_open", "s", 1), *inline.children[:-1], Token("s_close", "s", -1)]
            inline.children = [*struck, inline.children[-1]]
    if state.env["actions"]:
        state.tokens = [
            one
            for at, token in enumerate(state.tokens)
            for one in (token, *([Token("actions", "", 0, meta={"fact": facts[at]})] if at in facts else []))
        ]


def _render_actions(
    self: RendererProtocol, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
) -> str:
    return str(env["actions"](tokens[idx].meta["fact"]))


def _render_citation(
    self: RendererProtocol, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
) -> str:
    fact, url = tokens[idx].meta["fact"], env["url"]

    def link(record: int) -> Markup:
        return Markup('<a href="{}">r{}</a>').format(url("/records", id=record), record)

    said = ", ".join(part for part in (fact.speaker, fact.day) if part)
    parts = [Markup("{}").format(said)] if said else []
    parts += [link(record) for record in fact.records]
    if fact.source:
        parts.append(Markup('<span class="badge data">{}, data</span>').format(fact.source))
    if fact.until:
        by = Markup(" by {}").format(link(fact.by)) if fact.by else ""
        parts.append(Markup("until {}{}").format(fact.until, by))
    return str(Markup('<span class="cites">{}</span>').format(Markup(" ").join(parts)))


def _render_target(
    self: RendererProtocol, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
) -> str:
    token = tokens[idx]
    found = env["resolve"](token.meta["target"])
    if not found:
        made = Markup('<span class="unresolved" title="There is no such document">{}</span>').format(token.content)
    else:
        made = Markup('<a href="{}">{}</a>').format(env["url"]("/documents", id=found), token.content)
    return str(made)


def _render_link(
    self: RendererProtocol, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
) -> str:
    tokens[idx].attrSet("rel", "noopener noreferrer nofollow")
    return _RENDERER.renderToken(tokens, idx, options, env)


def _markdown() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")
    made.validateLink = lambda url: bool(_SAFE.match(url))  # type: ignore[method-assign]
    made.inline.ruler.before("link", "target", _target)
    made.inline.ruler.before("link", "citation", _citation)
    made.core.ruler.push("facts", _mark_facts)
    made.add_render_rule("actions", _render_actions)
    made.add_render_rule("citation", _render_citation)
    made.add_render_rule("target", _render_target)
    made.add_render_rule("link_open", _render_link)
    return made


_RENDERER = RendererHTML()
_MARKDOWN = _markdown()

"""A document's Markdown as HTML that is safe to show: no HTML of its own, no image, no link but to the web.

Citations become links to the records, `[[targets]]` links to documents, and claims that ended are struck out. What
a rule gives back is a plain str: a `Markup` would escape the HTML that it is added to.
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

from lifelong.organize.facts import parse

Url: TypeAlias = Callable[..., str]
Resolve: TypeAlias = Callable[[str], str | None]

_SAFE = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
_CITATION = re.compile(r"\[r\d[^\[\]\n]*\]")
_TARGET = re.compile(r"\[\[([^\[\]|\n]+)(?:\|([^\[\]\n]*))?\]\]")


def render(body: str, url: Url, resolve: Resolve) -> Markup:
    """`url` makes an address on the page; `resolve` gives the id of what a `[[target]]` names, if there is one."""
    return Markup(_MARKDOWN.render(body, {"url": url, "resolve": resolve}))


def _citation(state: StateInline, silent: bool) -> bool:
    found = _CITATION.match(state.src, state.pos)
    claim = parse(f"x {found[0]}") if found else None
    if not found or not claim:
        return False
    if not silent:
        state.push("citation", "", 0).meta = {"claim": claim}
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


def _mark_claims(state: StateCore) -> None:
    """Strike out what a claim said, but not where it comes from."""
    for opening, inline in zip(state.tokens, state.tokens[1:], strict=False):
        claim = parse(inline.content) if opening.type == "paragraph_open" and inline.type == "inline" else None
        if not claim or not inline.children or inline.children[-1].type != "citation":
            continue
        opening.attrSet("class", "claim" if claim.current else "claim ended")
        if not claim.current:
            struck = [Token("s_open", "s", 1), *inline.children[:-1], Token("s_close", "s", -1)]
            inline.children = [*struck, inline.children[-1]]


def _render_citation(
    self: RendererProtocol, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
) -> str:
    claim, url = tokens[idx].meta["claim"], env["url"]

    def link(record: int) -> Markup:
        return Markup('<a href="{}">r{}</a>').format(url("/records", id=record), record)

    parts = [link(record) for record in claim.records]
    if claim.source:
        parts.append(Markup('<span class="badge data">{}, data</span>').format(claim.source))
    if claim.until:
        by = Markup(" by {}").format(link(claim.by)) if claim.by else ""
        parts.append(Markup("until {}{}").format(claim.until, by))
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
    made.core.ruler.push("claims", _mark_claims)
    made.add_render_rule("citation", _render_citation)
    made.add_render_rule("target", _render_target)
    made.add_render_rule("link_open", _render_link)
    return made


_RENDERER = RendererHTML()
_MARKDOWN = _markdown()

"""From a setting (`anthropic:…`, `openai:…`, `ollama:…`, or whatever pydantic-ai knows) to a model to ask.

pydantic-ai is an extra, and takes two seconds to import: it is imported where it is used.
"""

from __future__ import annotations

import importlib.util
import os
from typing import TYPE_CHECKING, Any

from lifelong.errors import ConfigError
from lifelong.models.ledger import LOCAL_PROVIDERS

if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from pydantic_ai.providers import Provider

    from lifelong.settings import ModelsSettings

OLLAMA_URL = "http://localhost:11434/v1"
NO_KEY = "no-key"
"""A placeholder for servers that ask for no key: the clients insist on one."""

INSTALL = "models.model is set, but its packages are missing. Install them: pip install 'lifelong[llm]'."

_OPENAI_LIKE = {"openai", "openai-chat"}


def unusable(settings: ModelsSettings) -> str:
    """Return why no model can be used with these settings, in a sentence; empty where one can."""
    if not settings.model:
        return "No model is set. Set models.model, for example to 'anthropic:claude-haiku-4-5'."
    if not importlib.util.find_spec("pydantic_ai"):
        return INSTALL
    try:
        model_for(settings)
    except ConfigError as error:
        return str(error)
    return ""


def model_for(settings: ModelsSettings) -> Model:
    """Return the model, with a client of its own that is closed by leaving the model's context."""
    try:
        from pydantic_ai.exceptions import UserError
        from pydantic_ai.models import infer_model
    except ImportError:
        raise ConfigError(INSTALL) from None
    provider, _, name = settings.model.partition(":")
    if not provider or not name:
        raise ConfigError(
            f"models.model must be 'provider:name', as in 'openai:gpt-5-mini', not {settings.model!r}."
        )
    try:
        if settings.base_url and provider in _OPENAI_LIKE:
            return _openai_compatible(name, settings)
        return infer_model(settings.model, provider_factory=lambda named: _provider(named, settings))
    except UserError as error:
        if key_name(settings) in str(error):
            raise ConfigError(
                f"{settings.model} needs a key. Set models.api_key, or {key_name(settings)} in the environment."
            ) from None
        raise ConfigError(f"models.model {settings.model!r} cannot be used: {error}.") from None
    except ImportError as error:
        raise ConfigError(f"models.model {settings.model!r} needs more packages: {error}.") from None


def key_name(settings: ModelsSettings) -> str:
    """Return the environment variable that usually holds the provider's key."""
    provider = settings.model.partition(":")[0]
    provider = "openai" if provider in _OPENAI_LIKE else provider
    return f"{provider.upper().replace('-', '_')}_API_KEY"


def without_secrets(text: str, settings: ModelsSettings) -> str:
    """Return the text without keys that the provider may have repeated."""
    for secret in (settings.api_key.get_secret_value(), os.environ.get(key_name(settings), "")):
        if secret:
            text = text.replace(secret, "[key]")
    return text


def _openai_compatible(name: str, settings: ModelsSettings) -> Model:
    """Return a provider for a server that speaks OpenAI's Chat Completions. OpenAI's own key is never sent to
    it."""
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    provider = OpenAICompatibleProvider(
        "openai-compatible",
        base_url=settings.base_url,
        api_key=settings.api_key.get_secret_value() or NO_KEY,
    )
    return OpenAIChatModel(name, provider=provider)


def _provider(name: str, settings: ModelsSettings) -> Provider[Any]:
    from pydantic_ai.providers import infer_provider_class

    given: dict[str, str] = {}
    key = settings.api_key.get_secret_value()
    if settings.base_url:
        given = {"base_url": settings.base_url, "api_key": key or NO_KEY}
    elif key:
        given = {"api_key": key}
    if name in LOCAL_PROVIDERS and not settings.base_url:
        given["base_url"] = os.environ.get("OLLAMA_BASE_URL") or OLLAMA_URL
    try:
        return infer_provider_class(name)(**given)
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"models.model {settings.model!r} cannot be used with these settings: {error}."
        ) from None

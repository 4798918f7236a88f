"""`midspan stats`: what becomes of requests, by language; what is kept of each workspace, and how often it had it."""

from __future__ import annotations

from midspan_lsp.memory.place import memory_folder
from midspan_lsp.memory.store import StoreSummary, summaries
from midspan_lsp.memory.usage import Usage, read_usage
from midspan_lsp.memory.usage_languages import ACCEPTED, AT_ONCE, REQUESTS, SHOWN, LanguageUsage, read_languages


def run() -> int:
    """Print a part for each language and each workspace; 0."""
    folder = memory_folder()
    languages = read_languages(folder)
    for language in sorted(languages, key=lambda one: -languages[one].n(REQUESTS)):
        print(describe_language(language, languages[language]))
    stores = {summary.workspace: summary for summary in summaries(folder)}
    usages = read_usage(folder)
    for workspace in sorted({*stores, *usages}):
        print(describe(workspace, stores.get(workspace), usages.get(workspace, Usage())))
    if not stores and not usages and not languages:
        print(f"nothing is kept in {folder}")
    return 0


def describe_language(language: str, usage: LanguageUsage) -> str:
    """The lines of one language."""
    n_requests, n_shown, n_accepted = usage.n(REQUESTS), usage.n(SHOWN), usage.n(ACCEPTED)
    accepted = _share(min(n_accepted, n_shown), n_shown, "accepted") if n_accepted else ", none reported as accepted"
    lines = [
        language or "(no language)",
        f"  requests:  {n_requests:,}{_share(usage.n(AT_ONCE), n_requests, 'answered by what was shown before')}",
        f"  shown:     {n_shown:,}{accepted if n_shown else ''}",
    ]
    median_ms, late_ms = (usage.latency_ms(share) for share in (0.5, 0.9))
    if median_ms is not None and late_ms is not None:
        lines.append(f"  the model: {median_ms:.0f} ms (median), {late_ms:.0f} ms (90 %)")
    lines += [f"  silent:    {n:,} {reason}" for reason, n in usage.silences()]
    return "\n".join(lines)


def describe(workspace: str, store: StoreSummary | None, usage: Usage) -> str:
    """The lines of one workspace."""
    lines = [workspace]
    if store is not None:
        size = f"{store.n_bytes / 1e6:.1f} MB"
        lines.append(f"  kept:      {store.n_files:,} files, {store.n_tokens:,} tokens, {size}")
    lines.append(f"  requests:  {usage.n_requests:,}{_share(usage.n_proposed, usage.n_requests, 'with a proposal')}")
    lines.append(f"  shown:     {usage.n_shown:,}{_share(usage.n_from_project, usage.n_shown, 'from the project')}")
    return "\n".join(lines)


def _share(n: int, of: int, what: str) -> str:
    return f", {100 * n / of:.0f} % {what}" if of else ""

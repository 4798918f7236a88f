"""`midspan stats`: what the project's memory holds of each workspace, and how it did."""

from __future__ import annotations

from midspan_lsp.memory.store import StoreSummary, memory_folder, summaries
from midspan_lsp.memory.usage import Usage, read_usage


def run() -> int:
    """Print a part for each workspace; 0."""
    folder = memory_folder()
    stores = {summary.workspace: summary for summary in summaries(folder)}
    usages = read_usage(folder)
    for workspace in sorted({*stores, *usages}):
        print(describe(workspace, stores.get(workspace), usages.get(workspace, Usage())))
    if not stores and not usages:
        print(f"nothing is kept in {folder}")
    return 0


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

"""Links between the pages lead somewhere."""

from pathlib import Path

import pytest

from tests.unit.docs.pages import PROJECT, anchors, links, pages


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(PROJECT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in links(page):
        file, _, anchor = target.partition("#")
        found = (page.parent / file).resolve() if file else page
        assert found.exists(), f"{target} is not there"
        if anchor:
            assert anchor in anchors(found), f"{target}: no such heading"


def test_every_page_can_be_reached() -> None:
    reached = {PROJECT / "README.md"}
    todo = list(reached)
    while todo:
        page = todo.pop()
        for target in links(page):
            found = (page.parent / target.partition("#")[0]).resolve()
            if found in pages() and found not in reached:
                reached.add(found)
                todo.append(found)
    assert set(pages()) - reached - {PROJECT / "manifests/README.md"} == set()

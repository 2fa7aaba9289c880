from xml.etree import ElementTree

from mercer.cli.demo import page


def test_a_table_is_well_formed_and_marks_the_best_row():
    tree = ElementTree.fromstring(
        page.table(["method", "error"], [["a & b", "1"], ["<c>", "2"]], best=1)
    )
    rows = tree.findall(".//tbody/tr")
    assert [row.get("class") for row in rows] == [None, "best"]
    assert [[cell.text for cell in row] for row in rows] == [["a & b", "1"], ["<c>", "2"]]


def test_code_is_shown_as_it_is():
    assert (
        ElementTree.fromstring(page.code("\nif a < b:\n    c\n")).find("code").text
        == "if a < b:\n    c"
    )


def test_a_document_has_its_chapters_in_order():
    text = page.document("Title & more", "lead", [("One", "<p>1</p>"), ("Two", "<p>2</p>")], "foot")
    assert (
        text.index("<h2>One</h2>")
        < text.index("<p>1</p>")
        < text.index("<h2>Two</h2>")
        < text.index("<footer>foot")
    )
    assert "<title>Title &amp; more</title>" in text
    assert "width=device-width" in text

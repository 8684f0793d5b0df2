"""Markdown as another library reads it."""

from markdown_it import MarkdownIt


def parsed(text):
    return MarkdownIt("commonmark").enable("table").parse(text)


def cells_of_markdown(text):
    tokens = parsed(text)
    assert [token.type for token in tokens].count("table_open") == 1
    rows = [[]]
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline" and token.level > 2:
            assert {child.type for child in token.children} <= {"text", "text_special"}
            rows[-1].append("".join(child.content for child in token.children))
    return rows[1:]


def paragraphs_of_markdown(text):
    outside, paragraphs = True, []
    for token in parsed(text):
        if token.type in {"table_open", "table_close"}:
            outside = token.type == "table_close"
        elif outside:
            kind = token.type.removesuffix("_open").removesuffix("_close")
            assert kind in {"paragraph", "inline", "bullet_list", "list_item"}, token
            if token.type == "inline":
                assert {child.type for child in token.children} <= {"text", "text_special"}
                paragraphs.append("".join(child.content for child in token.children))
    return paragraphs

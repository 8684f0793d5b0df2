"""HTML as tests see it: elements, ids, texts; whatever is not nested rightly is refused."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "wbr", "hr", "img", "input"}


@dataclass
class Element:
    tag: str
    attributes: dict
    children: list = field(default_factory=list)

    def all(self, tag=None, **attributes):
        """All elements below with this tag and these attributes; `cls` is one of its classes."""
        cls = attributes.pop("cls", None)
        for child in self.children:
            if isinstance(child, Element):
                fits = tag in (None, child.tag) and attributes.items() <= child.attributes.items()
                if fits and (cls is None or cls in child.attributes.get("class", "").split()):
                    yield child
                yield from child.all(tag, **attributes, **({"cls": cls} if cls else {}))

    def one(self, tag=None, **attributes):
        (found,) = self.all(tag, **attributes)
        return found

    @property
    def text(self):
        return " ".join(self._text().split())

    def _text(self):
        if self.tag in {"style", "script", "title", "desc"}:
            return ""
        inline = {"a", "b", "bdi", "em", "span", "strong", "code", "wbr"}
        parts = (child if isinstance(child, str) else child._text() for child in self.children)
        text = "".join(parts)
        plain = self.tag in inline and "sub" not in self.attributes.get("class", "")
        return text if plain else f" {text} "


class _Parser(HTMLParser):
    def __init__(self):
        super().__init__()
        self.root = Element("root", {})
        self.open = [self.root]
        self.comments = []

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"an attribute twice: {attrs}"
        made = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(made)
        if tag not in VOID:
            self.open.append(made)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop().tag == tag, f"</{tag}> where another element is open"

    def handle_data(self, data):
        self.open[-1].children.append(data)

    def handle_comment(self, data):
        self.comments.append(data)


def parsed(text):
    parser = _Parser()
    parser.feed(text)
    parser.close()
    assert parser.open == [parser.root], "an element is not closed"
    assert not parser.comments
    return parser.root


def check(root):
    """Assert what holds for every page: ids once, links that lead somewhere, nothing that runs."""
    ids = [one.attributes["id"] for one in root.all() if "id" in one.attributes]
    assert len(ids) == len(set(ids))
    for one in root.all():
        for name, value in one.attributes.items():
            assert name != "style"
            assert not name.startswith("on")
            if name in {"href", "src"}:
                assert value.startswith("#")
                assert value[1:] in ids
            if name == "aria-labelledby":
                assert set(value.split()) <= set(ids)

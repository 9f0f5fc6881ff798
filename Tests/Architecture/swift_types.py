"""A small scanner of Swift: which types a file declares or extends, over which lines, with which stored properties.

It knows comments, strings with interpolations, braces and declarations, and no more. Standard library only.
"""

import re
from dataclasses import dataclass, field


@dataclass
class Declaration:
    """One declaration of a type, or one extension."""

    kind: str
    name: str  # with the types it is in: Outer.Inner
    first: int
    last: int
    properties: list[str] = field(default_factory=list)

    @property
    def lines(self):
        return self.last - self.first + 1


# MARK: code without comments and strings


TEXT_START = re.compile(r'//|/\*|#*"""|#*"')


def blank(text):
    return re.sub(r"[^\n]", " ", text)


def code_only(source):
    """The source with comments replaced by spaces, and strings by a quotation mark and spaces; offsets stay."""
    parts, position = [], 0
    while match := TEXT_START.search(source, position):
        parts.append(source[position : match.start()])
        end = end_of_text(source, match)
        blanks = blank(source[match.start() : end])
        parts.append(blanks if match.group().startswith("/") else '"' + blanks[1:])
        position = end
    return "".join(parts) + source[position:]


def end_of_text(source, match):
    if match.group() == "//":
        end = source.find("\n", match.end())
        return len(source) if end < 0 else end
    if match.group() == "/*":
        return end_of_block_comment(source, match.end())
    return end_of_string(source, match.end(), match.group())


def end_of_block_comment(source, position):
    depth = 1
    for match in re.compile(r"/\*|\*/").finditer(source, position):
        depth += 1 if match.group() == "/*" else -1
        if depth == 0:
            return match.end()
    return len(source)


def end_of_string(source, position, opening):
    """The end of a string; strings and comments in an interpolation are passed over."""
    hashes = "#" * opening.count("#")
    closing = opening.lstrip("#") + hashes
    step = re.compile(rf"\\{hashes}\(|\\{hashes}.|{re.escape(closing)}|\n", re.DOTALL)
    while match := step.search(source, position):
        if match.group() == closing:
            return match.end()
        if match.group() == "\n" and '"""' not in opening:
            return match.start()  # not a string that was understood: the line ends it
        position = end_of_interpolation(source, match.end()) if match.group().endswith("(") else match.end()
    return len(source)


def end_of_interpolation(source, position):
    depth = 1
    step = re.compile(r'[()]|/\*|#*"""|#*"')
    while match := step.search(source, position):
        position = match.end()
        if match.group() == "(":
            depth += 1
        elif match.group() == ")":
            depth -= 1
            if depth == 0:
                return position
        else:
            position = end_of_text(source, match)
    return len(source)


# MARK: declarations


TOKEN = re.compile(
    r"(?P<open>\{)|(?P<close>\})"
    r"|(?<![\w.`])(?P<kind>struct|class|enum|actor|protocol|extension)\s+(?P<name>`?[A-Z_][\w.`]*)"
    r"|(?<![\w.`])(?P<property>var|let)\s"
)
STATIC = re.compile(r"(?<![\w.])(?:static|class)(?:\s+[\w()]+)*\s*$")
WITHOUT_PROPERTIES = {"protocol", "extension", "enum"}


def declarations(source):
    """Every type and extension of a file, in the order of their first lines."""
    code = code_only(source)
    starts = [0] + [match.end() for match in re.finditer("\n", code)]
    found, scopes, waiting = [], [], None

    def line(offset):
        low, high = 0, len(starts)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if starts[middle] <= offset else (low, middle)
        return low + 1

    position = 0
    while match := TOKEN.search(code, position):
        position = match.end()
        if match["open"]:
            scopes.append(waiting)
            waiting = None
        elif match["close"]:
            scope = scopes.pop() if scopes else None
            if scope:
                scope.last = line(match.start())
        elif match["kind"]:
            outer = next((scope.name + "." for scope in reversed(scopes) if scope), "")
            waiting = Declaration(match["kind"], outer + match["name"].replace("`", ""), line(match.start()), 0)
            found.append(waiting)
        elif scopes and scopes[-1] and scopes[-1].kind not in WITHOUT_PROPERTIES:
            before = code[code.rfind("\n", 0, match.start()) + 1 : match.start()]
            if not STATIC.search(before):
                scopes[-1].properties += stored_names(code, match.end(), match["property"])
    return found


STEP = re.compile(r'->|[()\[\]{}<>,:="\n]|`?\w+`?')
OBSERVERS = re.compile(r"\{\s*(?:@\w+\s+)*(?:willSet|didSet)\b")
GOES_ON = ("{", "=", ".", "?", ":", "&&", "||")


def stored_names(code, position, keyword):
    """The stored properties of the declaration whose `let` or `var` ends at the position; none for a computed one."""
    names, depth, in_tuple = [], 0, False
    wants_name, is_value, line_is_open = True, False, True
    for step in STEP.finditer(code, position):
        text = step.group()
        if text == "\n":
            if depth == 0 and not line_is_open and not code[step.end() :].lstrip().startswith(GOES_ON):
                break
            continue
        if text == "{" and depth == 0 and not is_value:
            if keyword == "var" and not OBSERVERS.match(code, step.start()):
                return []  # accessors: it is computed
            break
        if text in {"(", "[", "{"} or text == "<" and not is_value:
            depth += 1
        elif text in {")", "]", "}"} or text == ">" and not is_value:
            if depth == 0:
                break
            depth -= 1
        elif text == "=" and depth == 0:
            is_value = True
        elif text == ":":
            wants_name = False
        elif text == "," and (depth == 0 or in_tuple and not is_value):
            wants_name, is_value = True, False
        elif wants_name and (text[0].isalpha() or text[0] in "_`"):
            in_tuple = depth > 0
            names.append(text.strip("`"))
            wants_name = False
        if text == ")" and depth == 0:
            in_tuple = False
        line_is_open = text in {",", "=", ":", "->"}
    return names

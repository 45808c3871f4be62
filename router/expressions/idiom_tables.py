"""
How other languages write what an expression says, and how it is written here: plain tables.

`ROWS` are signs between and around values, `NAMES` what is called or stands between two values,
`ROOTS` first names of a path. A row is a pattern, for ROWS what is wrong, and how it is written:
`{x}` is the group of that name, and idioms.py gives some forms of it more.
"""

_QUOTED = r"""(?:'[^']*'|"[^"]*")"""
_PATH = (
    r"(?<![\w$@.\]])(?:\w+\([^()]*\)|[$@]?[A-Za-z_][\w.]*(?:\[[^][]*\][\w.]*|\.?\"[^\"]*\"[\w.]*)*)"
)
X = rf"(?P<x>{_QUOTED}|{_PATH})"
V = rf"(?P<v>{_QUOTED}|-?\d[\d.]*|{_PATH})"
_ENDS = r"(?=\s*(?:$|&&|\|\||[)\]]|\}\}))"
_WORDS = r"(?:\w+(?:[ /@:+-]+[\w.]+)+)"
_NO_NAME = "brackets hold a position or a filter, not a name"
_NO_DOT = "a step of a path is written with a dot"
_NO_REGEX = "there is no operator for regular expressions"
_NO_UNIT = "a number is written without a unit and without separators"
_CURLY = "‘’‚“”„«»"  # noqa: RUF001 - they are the point
_ENVIRONMENT = "name it once under vars: {{{v_small}: {{env: {v}}}}}, and read var.{v_small}"
_NO_QUOTES = "a text needs single quotes"

ROWS: tuple[tuple[str, str, str], ...] = (
    # what surrounds an expression
    (
        r"^\s*\$?\{\{-?\s*(?P<x>.*?)\s*-?\}\}",
        "braces are for the texts of an action; this is an expression already",
        "write it without them: {x}",
    ),
    (r"^\s*\{\s*(?P<x>\w[\w.]*)\s*(?:\}|$)", "braces make an object: {{name: value}}", "write {x}"),
    (r"^-\s+(?P<x>\S.*?)\s*-?$", "'-' has no meaning at the end", "write {x} without it"),
    (r"^(?P<x>\S.*?)\s+-$", "'-' has no meaning at the end", "write {x} without it"),
    (
        r"^[#/^]\s*(?:if|each|unless|with)\b",
        "a template has no blocks",
        "write if(condition, a, b)",
    ),
    (r"\$\{\s*(?P<x>[^{}]*?)\s*\}", "'${{' is no beginning of a value", "write {x}"),
    # the way to a field
    (
        r"\$(?:json|input|node|body|event|request)\.(?P<v>\w[\w.]*)",
        "'$' is all roots together, and no part of a name",
        "write payload.{v}",
    ),
    (
        r"\$(?:env\.)?(?P<v>[A-Za-z_]\w*)",
        "'$' is all roots together, and no part of a name",
        _ENVIRONMENT,
    ),
    (
        rf"{X}\.\[(?P<v>-?\d+)\]",
        "a position stands right behind its list, without a dot",
        "write {x}[{v}]",
    ),
    (
        r"(?P<x>[A-Za-z_][\w.]*)\.(?P<v>\w*[À-ɏ]\w*)",
        "a name with other letters than a to z needs double quotes",
        'write {x}."{v}"',
    ),
    (r"\.\.", "a path has no '..'", "write each of its steps, from payload on"),
    (r"\?\.", "a path needs no '?': below null there is nothing, and no error", "write '.'"),
    (
        r"""(?<![\w.])(?:\w+\.)*headers\[(['"])(?P<v>[\w-]+)\1\]""",
        _NO_NAME,
        'write headers."{v_small}"',
    ),
    (rf"""{X}\[(['"])(?P<v>[A-Za-z_]\w*)\2\]""", _NO_NAME, "write {x}.{v}"),
    (rf"""{X}\[(['"])(?P<v>[^'"]*)\2\]""", _NO_NAME, 'write {x}."{v}"'),
    (
        rf"{X}\[(?P<v>{_PATH})\]",
        _NO_NAME,
        "write {x}.{v}, or lookup({x}, {v}) for the field that {v} names",
    ),
    (rf"{X}\s*(?:->>?|::)\s*['\"]?(?P<v>\w+)['\"]?", _NO_DOT, "write {x}.{v}"),
    (r"(?P<x>payload(?:/\w+)*)/(?P<v>[A-Za-z_]\w*)", _NO_DOT, "write {x_dots}.{v}"),
    (
        r"""(?<![\w\])"'*}])\.(?:[Pp]ayload\.|[Bb]ody\.|[Ee]vent\.)?(?P<v>[A-Za-z_][\w.]*)""",
        "a path does not begin with '.'",
        "write payload.{v}",
    ),
    # texts
    (
        rf"[{_CURLY}](?P<v>[^{_CURLY}]*)[{_CURLY}]?",
        "these quotes are typographic ones",
        "write '{v}', in straight single quotes",
    ),
    (
        rf"(?:[=!]=|[(,])\s*(?P<at>(?P<v>[A-Za-z_][\w -]*)'){_ENDS}",
        "the quote before this text is missing",
        "write '{v}'",
    ),
    (
        r"(?:[=!]=|[(,])\s*(?P<at>'(?P<v>[\w -]+))\)*\s*$",
        "the quote after this text is missing",
        "write '{v}'",
    ),
    (
        rf"[=!]=\s*(?!\S*\s*\b(?i:and|or|not|in|is|if|else)\b)(?P<at>(?P<v>{_WORDS})){_ENDS}",
        _NO_QUOTES,
        "write '{v}'",
    ),
    # operators
    (r"(?P<v>[=!])==", "there is no operator '{v}=='", "write '{v}='"),
    (r"<>", "there is no operator '<>'", "write '!='"),
    (r"=<", "there is no operator '=<'", "write '<='"),
    (
        rf"{X}\.\w+\(\s*\(?(?P<a>\w+)\)?\s*(?:=>|->|,)\s*(?P=a)\.(?P<v>[^()]*)\)",
        "a list is searched by a filter",
        "write {x}[?{v}]",
    ),
    (r"=>", "there is no '=>'", "write '>=' for 'at least', and list[?condition] for a search"),
    (
        rf"{X}\s*(?P<no>!)?(?:=~|~=|~)\*?\s*(?P<t>{_QUOTED}|/[^/]*/)\w*",
        _NO_REGEX,
        "write {no}matches({x}, {t})",
    ),
    (r"=!", "there is no operator '=!'", "write '!='"),
    (r"[=!]?~", _NO_REGEX, "write matches(text, 'pattern'), or glob(text, 'pattern*')"),
    (
        rf"{X}\s+(?i:is\s+)?(?P<no>(?i:not)\s+)?(?i:in)\s*[\[(](?P<v>[^][()]*)[\])]",
        "'in' is not an operator",
        "write {no}contains([{v}], {x})",
    ),
    (
        rf"{X}\s+(?i:is(?P<no>\s+not)?\s+(?:null|none|nil|undefined|empty|missing))\b",
        "'is' is not an operator",
        "write {x} {sign} null",
    ),
    (
        rf"{X}\s+(?i:is(?P<no>\s+not)?\s+(?:defined|present|set))\b",
        "'is' is not an operator",
        "write {no}exists({x})",
    ),
    (rf"{X}\s+(?i:is(?P<no>\s+not)?)\s+{V}", "'is' is not an operator", "write {x} {sign} {v}"),
    (
        rf"{X}\s+(?i:between)\s+(?P<a>\S+)\s+(?i:and|&&)\s+(?P<b>[^\s&|)]+)",
        "'between' is not an operator",
        "write {x} >= {a} && {x} <= {b}",
    ),
    (
        rf"{X}\s+(?P<no>(?i:not)\s+)?(?i:i?like)\s+(?P<v>{_QUOTED})",
        "'like' is not an operator",
        "write {no}glob({x}, {v_glob})",
    ),
    (
        r"\b(?P<a>exists|length|lower|upper|trim|type|decimal|split|contains)\s+(?P<x>[A-Za-z_][\w.]*)",
        "a function is called with its arguments in brackets",
        "write {a}({x})",
    ),
    (r"\btypeof\s+(?P<x>[A-Za-z_][\w.]*)", "'typeof' is not an operator", "write type({x})"),
    (
        r"\b(?:printf|sprintf|format)\b(?:\s+\S+)?",
        "there is no such function",
        "write concat(a, b, …)",
    ),
    (
        r"(?<![\w'\"\])] )\b(?i:not)\s+(?P<x>[A-Za-z_][\w.]*)",
        "'not' is not an operator",
        "write !{x}",
    ),
    (rf"{X}\s*\?\?=?\s*{V}", "there is no operator '??'", "write default({x}, {v})"),
    (rf"{X}\s*\?:\s*{V}", "there is no operator '?:'", "write default({x}, {v})"),
    (
        r"(?P<x>[^?]*[^?\s])\s*\?(?![?.:])\s*(?P<a>[^?:]*[^?:\s])\s*:\s*(?P<b>.*\S)",
        "there is no operator '?'",
        "write if({x}, {a}, {b})",
    ),
    (
        r"(?P<a>[^&|(]*[^&|(\s])\s+if\s+(?P<x>.*\S)\s+else\s+(?P<b>.*\S)",
        "'if' is a function",
        "write if({x}, {a}, {b})",
    ),
    (
        r"\?",
        "'?' stands only in a filter: list[?condition]",
        "for a choice write if(condition, a, b), for a fallback default(value, b)",
    ),
    (rf"{X}\s*\*\s*{V}", "there is no operator '*'", "write mul({x}, {v})"),
    (rf"{X}\s*/\s*{V}", "there is no operator '/'", "write div({x}, {v})"),
    (rf"{X}\s+-\s*{V}", "there is no operator '-'", "write sub({x}, {v})"),
    (
        rf"(?:(?P<x>{_QUOTED})\s*\+\s*{V}|(?P<y>{_PATH})\s*\+\s*(?P<w>{_QUOTED}))",
        "there is no operator '+'",
        "write concat({x}{y}, {v}{w})",
    ),
    # numbers
    (
        r"[<>=(,]\s*(?P<v>\d{1,3}(?:[,_' ]\d{3})+(?:\.\d+)?)(?![\d,])",
        _NO_UNIT,
        "write {v_digits}",
    ),
    (r"[<>=]\s*[$€£¥]\s*(?P<v>\d[\d.]*)", _NO_UNIT, "write {v}"),
    (
        r"[<>=]\s*\d+\s*(?:ms|s|secs?|seconds?|m|mins?|minutes?|h|hours?|d|days?)\b",
        _NO_UNIT,
        "a time is a number of seconds, as in age(x) > 3600",
    ),
    (
        r"[<>=]\s*(?P<v>\d+(?:\.\d+)?)\s*(?:[%$€£¥]|(?!(?i:and|or|is|in|if)\b)[A-Za-z]{1,7}\b)",
        _NO_UNIT,
        "write {v}",
    ),
    (rf"[=!]=\s*(?P<at>(?P<v>\d[\w.]*(?:[/:-][\w.:]+)+)){_ENDS}", _NO_QUOTES, "write '{v}'"),
    # lists and conditions
    (
        r"(?P<x>\.?[\w.]+(?:\[\])?)\s*\|\s*select\(\s*\.?(?P<v>.*)\)",
        "a list is searched by a filter",
        "write {x}[?{v}]",
    ),
    (
        rf"\bfor\s+(?P<a>\w+)\s+in\s+(?P<x>{_PATH})",
        "there are no loops",
        "write {x}[].field for what each element has, {x}[?condition] for some of them",
    ),
    (
        r";|,\s*(?=[A-Za-z_][\w.]*\s*[=!<>])",
        "one condition ends here",
        "join conditions with '&&', or write a list with one on each line",
    ),
)

NAMES = {
    "length({x})": "length len size count strlen",
    "contains({x}, {v})": "contains includes include has hasitem",
    "contains({v}, {x})": "in isin oneof",
    "starts_with({x}, {v})": "startswith beginswith hasprefix",
    "ends_with({x}, {v})": "endswith hassuffix",
    "lower({x})": "lower tolower tolowercase lowercase lcase downcase asciidowncase casefold",
    "upper({x})": "upper toupper touppercase uppercase ucase upcase asciiupcase",
    "trim({x})": "trim strip trimspace",
    "replace({x}, {v})": "replace replaceall gsub",
    "join({v}, {x})": "join",
    "matches({x}, {v})": "matches match test search regex regexp regexmatch fullmatch rlike",
    "glob({x}, {v})": "like ilike fnmatch",
    "to_string({x})": "tostring str string tojson json dumps stringify",
    "to_number({x})": "tonumber number num int integer float toint parseint parsefloat",
    "default({x}, {v})": "default coalesce ifnull nvl orelse getordefault fallback",
    "exists({x})": "exists defined isset isdefined has",
    "if({x}, {v})": "if iif cond ternary ifelse",
    "{x} == null": "isnull isnil isnone",
    "!{x}": "not empty isempty blank isblank",
    "{x} == {v}": "eq equal equals",
    "{x} != {v}": "ne neq notequal notequals",
    "{x} > {v}": "gt greaterthan",
    "{x} >= {v}": "ge gte",
    "{x} < {v}": "lt lessthan",
    "{x} <= {v}": "le lte",
    "{x} && {v}": "and",
    "{x} || {v}": "or",
    "{x}[0]": "first head",
    "{x}[-1]": "last",
    "{x}.{name}": "get",
    "round({x}, {v})": "tofixed",
    "date(now())": "today curdate currentdate",
    "{x}[?condition]": "filter find where select some any every all",
}
"""How it is written with us, and what it is called elsewhere: in small letters and without `_`."""

_ENVELOPES = (
    "body|json|data|msg|message|input|item|this|self|context|ctx|trigger|object|github|resource"
    "|Payload|Body|Event"
)

ROOTS: tuple[tuple[str, str], ...] = (
    (
        r"(?:process\.|os\.)?(?:environ|env|ENV)\.?\W*(?P<v>\w+)",
        _ENVIRONMENT,
    ),
    (r"github\.event\.(?P<v>\w[\w.]*)", "write payload.{v}"),
    (r"github\.event_name", "write event"),
    (r"(?:vars|variables|settings)\.(?P<v>\w+)", "write var.{v}"),
    (r"(?:steps|needs|jobs)\.(?P<v>\w+)", "write results.{v}, in an action that comes after it"),
    (
        r"(?:req|request|webhook|http)\.(?:headers|header)\.?\W*(?P<v>[\w-]+)",
        'write headers."{v_small}"',
    ),
    (r"(?:req|request|webhook|http)\.(?P<v>query|path)", "write {v}"),
    (
        rf"(?:(?:req|request|webhook|http)\.)?(?:{_ENVELOPES})\.(?:payload\.|event\.)?(?P<v>\w[\w.]*)",
        "write payload.{v}",
    ),
    (
        r"(?:if|range|with|unless|each|for|else|end|endif|endfor)\b",
        "a template has no blocks: write if(condition, a, b)",
    ),
    (r"(?:nil|None|undefined|NULL|Null|none|NaN)\b", "write null"),
    (r"(?:True|TRUE)\b", "write true"),
    (r"(?:False|FALSE)\b", "write false"),
)

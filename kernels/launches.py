"""Writes the launches in kernels/ptx/launches.rs from the kernels' sources.

Each module holds, for one NAME.cu or NAME.cuh: the structs that the kernels share with Rust, with assertions on the sizes and
offsets that NVRTC gives them; and for each `extern "C" __global__` kernel a function with its parameters. A file NAME_VARIANT.cu
that includes NAME.cuh is a variant of NAME: one module, a `load` function for each variant.

The sources are read by rules that cover how they are written: one declaration a line or several names after one type, no block
comments, macros without arguments in parameter lists. A macro that stands for several parameters becomes a struct of them. What is written
otherwise ends the program with an error: the kernels that were read are compared with those of the PTX.
"""

import ast
import re
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

WIDTH = 130
SCALARS = {
    "float": "f32",
    "double": "f64",
    "int": "i32",
    "unsigned": "u32",
    "long long": "i64",
    "unsigned long long": "u64",
    "unsigned char": "u8",
    "unsigned short": "u16",
}
VECTORS = {
    "float2": "[f32; 2]",
    "float4": "[f32; 4]",
    "int2": "[i32; 2]",
    "uint2": "[u32; 2]",
    "double3": "[f64; 3]",
    "ulonglong2": "[u64; 2]",
}
# Types that Rust has already: their layout is asserted.
KNOWN = {"TofTerms"}
# The handle of a texture.
TEXTURE = "Texture"
PROBE = "layout_probe"


KERNELS = Path(__file__).resolve().parent


def file_of(name):
    """The source of this name: names are unique over all folders of kernels."""
    return next(KERNELS.rglob(name))


def includes_of(text):
    return re.findall(r'^#include "(.*)"$', text, re.MULTILINE)


def joined(path):
    """The text of a source with the files that it includes in their place, each once."""
    seen = set()

    def read(path):
        text = path.read_text()
        return re.sub(r'^#include "(.*)"$', lambda found: included(file_of(found[1])), text, flags=re.MULTILINE)

    def included(path):
        if path in seen:
            return ""
        seen.add(path)
        return read(path)

    return read(path)


@dataclass
class Parameter:
    name: str
    # In C, without const and star.
    kind: str
    is_pointer: bool
    is_const: bool


@dataclass
class Struct:
    name: str
    # The file that defines it, without its ending.
    home: str
    # (name, type in C, lengths)
    fields: list
    offsets: list = field(default_factory=list)
    size: int = 0


@dataclass
class Source:
    """A .cu file as it is compiled."""

    path: Path
    text: str
    macros: dict
    typedefs: dict
    structs: dict
    # Name -> parts of the parameter list: Parameter, or (name of a macro, [Parameter])
    kernels: dict
    # Macro -> the file that defines it, without its ending.
    macro_homes: dict = field(default_factory=dict)


def read_source(path):
    text = re.sub(r"//.*$", "", joined(path), flags=re.MULTILINE)
    text = text.replace("\\\n", " ")
    macros = dict(re.findall(r"^#define (\w+)[ \t]+(\S.*?)[ \t]*$", text, re.MULTILINE))
    typedefs = {name: kind for kind, name in re.findall(r"^typedef ([\w ]+?) (\w+);", text, re.MULTILINE)}
    homes = {}
    for file in [path, *sorted(KERNELS.rglob("*.cuh"), key=lambda file: file.name)]:
        for name in re.findall(r"^struct (\w+) \{", file.read_text(), re.MULTILINE):
            homes.setdefault((file.name, name), file.stem)
    used = [path.name] + sorted(all_includes(path))
    source = Source(path, text, macros, typedefs, {}, {})
    for file in [path, *map(file_of, sorted(all_includes(path)))]:
        for name in re.findall(r"^#define (\w+)", file.read_text(), re.MULTILINE):
            source.macro_homes.setdefault(name, file.stem)
    for name, body in re.findall(r"^struct (\w+) \{\n(.*?)^\};", text, re.MULTILINE | re.DOTALL):
        home = next(homes[file, name] for file in used if (file, name) in homes)
        source.structs[name] = Struct(name, home, fields_of(source, body))
    heads = re.findall(r'extern "C" __global__ void\s+(?:BOUNDS\s|__launch_bounds__\([^()]*\))?\s*(\w+)\s*\(([^()]*)\)', text)
    if len(heads) != text.count('extern "C" __global__'):
        raise SystemExit(f"{path.name}: not every kernel's head is written as kernels/launches.py reads it")
    for name, parameters in heads:
        source.kernels[name] = [part_of(source, part.strip()) for part in parameters.split(",")]
    return source


def all_includes(path):
    names = set()
    for name in includes_of(path.read_text()):
        names |= {name} | all_includes(file_of(name))
    return names


def fields_of(source, body):
    """The fields of a struct, or None where it has more than plain values in it."""
    if re.search(r"[()*&]", body):
        return None
    fields = []
    for kind, names in re.findall(r"^\s*((?:unsigned |long )*\w+) ([^;]*);", body, re.MULTILINE):
        for name in names.split(","):
            name, *lengths = re.findall(r"\w+", name)
            fields.append((name, source.typedefs.get(kind, kind), [number(source, length) for length in lengths]))
    return fields


def number(source, text):
    """A whole number, or a macro that stands for one."""
    return ast.literal_eval(source.macros.get(text, text))


def part_of(source, text):
    if text in source.macros:
        return text, [part_of(source, part.strip()) for part in source.macros[text].split(",")]
    found = re.fullmatch(r"(const )?((?:unsigned |long )*\w+) (\*?)(\w+)", text)
    const, kind, star, name = found.groups()
    kind = kind if kind == TEXTURE else source.typedefs.get(kind, kind)
    return Parameter(name, kind, bool(star), bool(const))


def flat(parts):
    for part in parts:
        yield from [part] if isinstance(part, Parameter) else part[1]


def shared_structs(source):
    """The structs that the kernels' parameters consist of, with those inside them, in the order of the source."""
    names = set()

    def add(name):
        if name in source.structs and name not in names:
            names.add(name)
            for _, kind, _ in source.structs[name].fields:
                add(kind)

    for parts in source.kernels.values():
        for parameter in flat(parts):
            add(parameter.kind)
    return [struct for name, struct in source.structs.items() if name in names]


def probe_of(source):
    """Code whose PTX holds sizes and offsets of the shared structs as the values of an array."""
    values = []
    for struct in shared_structs(source):
        values.append(f"sizeof({struct.name})")
        # (NVRTC has no offsetof.)
        values += [f"(unsigned)(size_t)&(({struct.name} *)0)->{name}" for name, _, _ in struct.fields]
    return f'\nextern "C" __constant__ unsigned {PROBE}[] = {{{", ".join([*values, "1"])}}};\n'


def take_layout(source, ptx):
    """Reads what `probe_of` has left in the PTX."""
    found = re.search(rf"\b{PROBE}\[\d+\] = \{{([^}}]*)\}}", ptx)
    data = [int(value) for value in found[1].split(",")]
    if ".b8 " in ptx[ptx.rindex("\n", 0, found.start()) : found.start()]:
        data = [int.from_bytes(bytes(data[at : at + 4]), "little") for at in range(0, len(data), 4)]
    for struct in shared_structs(source):
        struct.size = data.pop(0)
        struct.offsets = [data.pop(0) for _ in struct.fields]
    if data != [1]:
        raise SystemExit(f"{source.path.name}: the probe of its structs has other values than expected")


def check_entries(source, ptx):
    """Compares the kernels that were read with those that were compiled."""
    entries = {name: parameters.count(".param") for name, parameters in re.findall(r"\.entry (\w+)\(([^)]*)\)", ptx)}
    read = {name: len(list(flat(parts))) for name, parts in source.kernels.items()}
    if entries != read:
        raise SystemExit(f"{source.path.name}: kernels/launches.py reads {read}, the compiler {entries}")


# --- Rust ---


def camel(name):
    return "".join(part.capitalize() for part in name.lower().split("_"))


def rust_type(kind, lengths=()):
    text = SCALARS.get(kind) or VECTORS.get(kind) or kind
    for length in reversed(lengths):
        text = f"[{text}; {length}]"
    return text


def argument(part):
    """A parameter of a launch: its name, its type and how it is appended to the arguments."""
    if not isinstance(part, Parameter):
        return f"{part[0].lower()}: &{camel(part[0])}<'_> = pushed"
    kind = rust_type(part.kind)
    if part.is_pointer:
        return f"{part.name}: {f'&impl Readable<{kind}>' if part.is_const else f'&mut impl Writable<{kind}>'} = pushed"
    how = "pushed" if part.kind == TEXTURE else "held"
    return f"{part.name}: {kind} = value" if part.kind in SCALARS else f"{part.name}: &{kind} = {how}"


def field_of(parameter):
    """A parameter in a struct that stands for a macro."""
    kind = rust_type(parameter.kind)
    if parameter.is_pointer:
        assert parameter.is_const, parameter
        return f"{parameter.name}: CudaView<'a, {kind}> = value"
    how = "pushed" if parameter.kind == TEXTURE else "held"
    return f"{parameter.name}: {kind} = value" if parameter.kind in SCALARS else f"{parameter.name}: &'a {kind} = {how}"


def call(macro, head, items):
    """The call of a macro of `src/engine/cuda/launches/mod.rs`."""
    # (Lines are broken between the items.)
    text = ", ".join(item.replace(" ", "\0") for item in items)
    inside = textwrap.wrap(text, WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 8, break_long_words=False, break_on_hyphens=False)
    return [f"    {macro}! {{ {head}", *(line.replace("\0", " ") for line in inside), "    }"]


def struct_lines(struct):
    offsets = zip(struct.fields, struct.offsets, strict=True)
    fields = [f"{name}: {rust_type(kind, lengths)} = {offset}" for (name, kind, lengths), offset in offsets]
    return call("laid_out" if struct.name in KNOWN else "shared", f"{struct.name} = {struct.size};", fields)


def macros_of(source):
    """The macros that stand for parameters of kernels."""
    return {part[0]: part[1] for parts in source.kernels.values() for part in parts if not isinstance(part, Parameter)}


def module_of(source):
    """The name of the module of a .cu file."""
    stem = source.path.stem
    heads = [Path(name).stem for name in all_includes(source.path)]
    return next((head for head in heads if stem.startswith(f"{head}_")), stem)


def module_lines(name, sources, structs, macros):
    """The text of a module: of .cu files that are variants of each other, or none, of structs and of macros for parameters."""
    kernels = sources[0].kernels if sources else {}
    for other in sources[1:]:
        if other.kernels != kernels:
            raise SystemExit(f"{other.path.name} and {sources[0].path.name} have other kernels")
    lines = []
    for struct in structs:
        lines += struct_lines(struct)
    for macro, parameters in macros.items():
        lines += call("parameters", f"{camel(macro)}<'a>;", map(field_of, parameters))
    signatures = {}
    for kernel, parts in kernels.items():
        signatures.setdefault(repr(parts), ([], parts))[0].append(kernel)
    if kernels:
        loads = [f'load{source.path.stem.removeprefix(name)} = "{source.path.stem}.ptx"' for source in sources]
        kinds = {kernel: f"{camel(names[0])}Kernel" for names, _ in signatures.values() for kernel in names}
        lines += call("kernels", f"{', '.join(loads)};", [f"{kernel}: {kinds[kernel]}" for kernel in kernels])
    for names, parts in signatures.values():
        lines += call("kernel", f"{camel(names[0])}Kernel;", map(argument, parts))
    return lines


HEAD = """\
// Generated by `kernels/build.py`: launches of the kernels in `kernels`, and the structs that these share with Rust, as calls of the
// macros in `src/engine/cuda/launches/mod.rs`. After each struct its size, after each of its fields its offset, in bytes, as NVRTC gives them.
"""


def rust_of(sources, hash_of):
    """The text of kernels/ptx/launches.rs: a module for each source with kernels, and for each file that several of them include."""
    modules, structs, macros = {}, {}, {}
    for source in sources:
        modules.setdefault(module_of(source), []).append(source)
        for struct in shared_structs(source):
            known = structs.setdefault(struct.home, {}).setdefault(struct.name, struct)
            if known != struct:
                raise SystemExit(f"{source.path.name}: {struct.name} is laid out otherwise elsewhere")
    # Structs of a variant's own file are those of its module.
    for source in sources:
        if source.path.stem != module_of(source) and source.path.stem in structs:
            structs.setdefault(module_of(source), {}).update(structs.pop(source.path.stem))
    # A macro that several modules share stands in that of its own file.
    for source in sources:
        for macro, parameters in macros_of(source).items():
            home = source.macro_homes[macro]
            users = {module_of(other) for other in sources if macro in macros_of(other) and other.macro_homes[macro] == home}
            macros.setdefault(home if len(users) > 1 else module_of(source), {})[macro] = parameters
    lines = [HEAD.rstrip()]
    for name in sorted(modules.keys() | structs.keys() | macros.keys()):
        variants = modules.get(name, [])
        own = module_lines(name, variants, list(structs.get(name, {}).values()), macros.get(name, {}))
        # A name may mean different structs in different sources: those that these sources include.
        seen = {Path(each).stem for source in variants for each in all_includes(source.path)}
        imports = []
        for home in sorted((structs.keys() | macros.keys()) - {name}):
            used = [each for each in [*structs.get(home, {}), *map(camel, macros.get(home, {}))] if re.search(rf"\b{each}\b", "\n".join(own))]
            here = {*structs.get(name, {}), *map(camel, macros.get(name, {}))}
            used = sorted(set(used) - here) if home in seen or not variants else []
            imports += [f"    use super::{home}::{{{', '.join(used)}}};"] if used else []
        origin = variants[0].path if variants else file_of(f"{name}.cuh")
        lines += ["", f"// source: {origin.name}, sha256 {hash_of(origin)}", f"pub mod {name} {{"]
        lines += [*imports, "    use super::*;", "", *own, "}"]
    return "\n".join([*lines, ""])

"""Writes the launches in src/engine/cuda/launches from the kernels' sources.

Each module holds, for one NAME.cu or NAME.cuh: the structs that the kernels share with Rust, with assertions on the sizes and
offsets that NVRTC gives them; and for each `extern "C" __global__` kernel a function with its parameters. A file NAME_VARIANT.cu
that includes NAME.cuh is a variant of NAME: one module, a `load` function for each variant.

The sources are read by rules that cover how they are written: one declaration a line or several names after one type, no block
comments, macros without arguments in parameter lists. A macro that stands for several parameters becomes a struct of them. What is written
otherwise ends the program with an error: the kernels that were read are compared with those of the PTX.
"""

import ast
import re
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
KNOWN = {"TofTerms": "crate::operator::TofTerms"}
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


def argument_type(part):
    """The type of a parameter in a function."""
    if not isinstance(part, Parameter):
        return f"&{camel(part[0])}<'_>"
    kind = rust_type(part.kind)
    if part.is_pointer:
        return f"&impl Readable<{kind}>" if part.is_const else f"&mut impl Writable<{kind}>"
    return kind if part.kind in SCALARS else f"&{kind}"


def field_type(parameter):
    """The type of a parameter in a struct that stands for a macro."""
    kind = rust_type(parameter.kind)
    if parameter.is_pointer:
        assert parameter.is_const, parameter
        return f"CudaView<'a, {kind}>"
    return kind if parameter.kind in SCALARS else f"&'a {kind}"


def push(part, prefix=""):
    if not isinstance(part, Parameter):
        return f"{part[0].lower()}.push(&mut launch);"
    name = prefix + part.name
    if part.kind == TEXTURE:
        return f"launch.arg({name}.object());"
    if part.is_pointer:
        return f"launch.arg(&{name});" if prefix else f"{name}.push(&mut launch);"
    return f"launch.arg(&{name});" if part.kind in SCALARS else f"launch.arg({name});"


def function(indent, head, parameters, result):
    """The lines of a function's head, as rustfmt breaks them."""
    line = f"{indent}{head}({', '.join(parameters)}){result} {{"
    if len(line) <= WIDTH:
        return [line]
    return [f"{indent}{head}(", *[f"{indent}    {parameter}," for parameter in parameters], f"{indent}){result} {{"]


def struct_lines(struct):
    known = struct.name in KNOWN
    lines = []
    if not known:
        lines += [f"/// `{struct.name}` of the kernels.", "#[repr(C)]", "#[derive(Clone, Copy, Debug, Default, PartialEq)]"]
        lines += [f"pub struct {struct.name} {{"]
        lines += [f"    pub {name}: {rust_type(kind, lengths)}," for name, kind, lengths in struct.fields]
        lines += ["}", "", "// SAFETY: plain numbers, laid out as in the kernels: asserted below."]
        lines += [f"unsafe impl DeviceRepr for {struct.name} {{}}", ""]
    lines += ["const _: () = {", f"    assert!(size_of::<{struct.name}>() == {struct.size});"]
    for (name, _, _), offset in zip(struct.fields, struct.offsets, strict=True):
        lines.append(f"    assert!(offset_of!({struct.name}, {name}) == {offset});")
    return [*lines, "};", ""]


def macros_of(source):
    """The macros that stand for parameters of kernels."""
    return {part[0]: part[1] for parts in source.kernels.values() for part in parts if not isinstance(part, Parameter)}


def macro_lines(name, parameters):
    lines = [f"/// The parameters `{name}`.", f"pub struct {camel(name)}<'a> {{"]
    lines += [f"    pub {parameter.name}: {field_type(parameter)}," for parameter in parameters]
    lines += ["}", "", f"impl {camel(name)}<'_> {{", "    /// Appends them to the arguments of a launch.", "    pub fn push<'a>(&'a self, launch: &mut LaunchArgs<'a>) {"]
    lines += [f"        {push(parameter, 'self.')}" for parameter in parameters]
    return [*lines, "    }", "}", ""]


def kernel_lines(names, parts):
    """The type of the kernels of one signature."""
    kind = f"{camel(names[0])}Kernel"
    listed = ", ".join(f"`{name}`" for name in names)
    lines = [f"/// {listed}.", f"pub struct {kind}(Kernel);", "", f"impl Deref for {kind} {{", "    type Target = Kernel;", ""]
    lines += ["    fn deref(&self) -> &Kernel {", "        &self.0", "    }", "}", "", f"impl {kind} {{"]
    parameters = ["&self", "stream: &CudaStream", "shape: LaunchConfig"]
    parameters += [f"{(part.name if isinstance(part, Parameter) else part[0].lower())}: {argument_type(part)}" for part in parts]
    lines += ["    /// Starts the kernel on a stream. Returns before it has finished."]
    if len(parameters) > 7:
        lines += ["    #[allow(clippy::too_many_arguments)]"]
    lines += function("    ", "pub fn launch", parameters, " -> Result<(), CudaError>")
    lines += ["        let mut launch = stream.launch_builder(&self.0.function);"]
    lines += [f"        {push(part)}" for part in parts]
    return [*lines, "        start(&self.0, launch, shape)", "    }", "}", ""]


def module_of(source):
    """The name of the module of a .cu file."""
    stem = source.path.stem
    heads = [Path(name).stem for name in all_includes(source.path)]
    return next((head for head in heads if stem.startswith(f"{head}_")), stem)


def module_lines(name, sources, structs, macros, elsewhere):
    """The text of a module: of .cu files that are variants of each other, or none, of structs and of macros for parameters."""
    lines = []
    kernels = sources[0].kernels if sources else {}
    for other in sources[1:]:
        if other.kernels != kernels:
            raise SystemExit(f"{other.path.name} and {sources[0].path.name} have other kernels")
    signatures = {}
    for kernel, parts in kernels.items():
        signatures.setdefault(repr(parts), ([], parts))[0].append(kernel)
    for struct in structs:
        lines += struct_lines(struct)
    for macro, parameters in macros.items():
        lines += macro_lines(macro, parameters)
    if kernels:
        kinds = {kernel: f"{camel(names[0])}Kernel" for names, _ in signatures.values() for kernel in names}
        lines += ["/// The kernels.", "pub struct Kernels {"]
        lines += [f"    pub {kernel}: {kind}," for kernel, kind in kinds.items()]
        lines += ["}", "", "impl Kernels {"]
        for source in sources:
            stem = source.path.stem
            load = f"load{stem.removeprefix(name)}"
            lines += [f"    /// Loads `{stem}.cu`.", "    ///", "    /// # Errors", "    /// Device failure."]
            lines += [f"    pub fn {load}(context: &Arc<CudaContext>) -> Result<Self, CudaError> {{"]
            lines += [f'        let module = Module::load(context, include_str!("../../../../kernels/ptx/{stem}.ptx"))?;']
            if len(sources) > 1:
                lines += ["        Self::of(&module)", "    }", ""]
        if len(sources) > 1:
            lines += ["    fn of(module: &Module) -> Result<Self, CudaError> {"]
        given = [f'{kernel}: {kind}(module.kernel("{kernel}")?)' for kernel, kind in kinds.items()]
        line = f"        Ok(Self {{ {', '.join(given)} }})"
        lines += [line] if len(line) <= WIDTH else ["        Ok(Self {", *[f"            {each}," for each in given], "        })"]
        lines += ["    }", "}", ""]
    for names, parts in signatures.values():
        lines += kernel_lines(names, parts)
    text = "\n".join(lines)
    file = file_of(f"{name}.cuh" if len(sources) != 1 else f"{name}.cu").relative_to(KERNELS.parent).as_posix()
    defined = {struct.name for struct in structs} | {camel(macro) for macro in macros}
    return [*heading(file, text, defined, elsewhere), *lines[:-1]]


def heading(file, text, defined, elsewhere):
    """The documentation and the imports that a text needs."""

    def used(*names):
        return [each for each in names if re.search(rf"\b{each}\b", text)]

    driver = used("CudaContext", "CudaStream", "CudaView", "DeviceRepr", "LaunchArgs", "LaunchConfig")
    if "launch.arg(" in text:
        driver.append("PushKernelArg as _")
    kernel = used("Kernel", "Module", "Readable", "Writable")
    lines = [f"//! Generated by `kernels/build.py`: the launches and shared structs of `{file}`.", ""]
    std = [f"use std::{path};" for path in ["mem::offset_of", "ops::Deref", "sync::Arc"] if used(path.split("::")[-1])]
    lines += [*std, ""] if std else []
    if driver:
        lines += [f"use cudarc::driver::{braced(driver)};", ""]
    elsewhere = {home: sorted(each for each in used(*names) if each not in defined) for home, names in elsewhere.items()}
    near = [f"use super::{home}::{braced(names)};" for home, names in elsewhere.items() if names]
    lines += sorted([*near, *(["use super::start;"] if used("start") else [])])
    lines += ["use crate::cuda::device::texture::Texture;"] if used(TEXTURE) else []
    lines += ["use crate::cuda::error::CudaError;"] if used("CudaError") else []
    lines += [f"use crate::cuda::kernel::{braced(kernel)};"] if kernel else []
    lines += [f"use {path};" for kind, path in KNOWN.items() if used(kind)]
    return [*lines, *([""] if lines[-1] else [])]


def braced(names):
    return names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"


MOD = """\
//! Generated by `kernels/build.py`: launches of the kernels in `kernels/`, and the structs that these share with Rust.
//!
//! Each function has the parameters of its kernel, with the same types, order and mutability. NVRTC reports the size of each shared
//! struct and the offsets of its fields; the modules assert them. The caller chooses the shape of a launch, and passes arrays that
//! are as long as the counts and tables among the arguments require. A kernel that reaches beyond an array changes other memory of
//! the device or stops with an error of the driver. No kernel receives an address of host memory.

#![allow(unsafe_code)]

MODULES
use cudarc::driver::{LaunchArgs, LaunchConfig};

use super::device::driver::guarded;
use super::error::CudaError;
use super::kernel::Kernel;

/// Starts a kernel on the stream of `launch`.
fn start(kernel: &Kernel, mut launch: LaunchArgs<'_>, shape: LaunchConfig) -> Result<(), CudaError> {
    // SAFETY: only the functions of the modules below call this, each with the arguments of its kernel.
    guarded(kernel.name, || unsafe { launch.launch(shape) }).map(drop)
}
"""


SHARED = """\
//! Generated by `kernels/build.py`: what several modules of launches share, from the files of `kernels/` that they include.

"""


# The folder of kernels whose launches lie in a folder, too: its modules include others of `shared` alone.
NESTED = "montecarlo"
NESTED_MOD = """\
//! Generated by `kernels/build.py`: launches of the kernels in `kernels/montecarlo`.

"""


def rust_of(sources, hash_of):
    """The files of src/engine/cuda/launches: names and texts. What has no kernels of its own is in the folder `shared`."""
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
    names = sorted(modules.keys() | structs.keys() | macros.keys())
    nested = {module_of(source) for source in sources if source.path.parent.name == NESTED}
    files = {}
    for name in names:
        own = list(structs.get(name, {}).values())
        variants = modules.get(name, [])
        # A name may mean different structs in different sources: those that these sources include.
        seen = {name}.union(*[{Path(each).stem for each in all_includes(source.path)} for source in variants])
        others = {home: [*structs.get(home, {}), *map(camel, macros.get(home, {}))] for home in structs.keys() | macros.keys()}
        elsewhere = {home: found for home, found in sorted(others.items()) if home != name and (home in seen or not variants)}
        if variants:
            elsewhere = {home if home in modules else f"shared::{home}": found for home, found in elsewhere.items()}
        origin = variants[0].path if variants else file_of(f"{name}.cuh")
        head = f"// source: {origin.name}, sha256 {hash_of(origin)}"
        text = "\n".join([head, *module_lines(name, variants, own, macros.get(name, {}), elsewhere), ""])
        if name in nested:
            text = text.replace("use super::", "use super::super::").replace('"../../../', '"../../../../')
        folder = f"{NESTED}/" if name in nested else "" if variants else "shared/"
        files[f"{folder}{name}.rs"] = text
    def listed(names):
        return "".join(f"pub mod {name};\n" for name in sorted(names))

    files["shared/mod.rs"] = SHARED + listed(name for name in names if name not in modules)
    files[f"{NESTED}/mod.rs"] = NESTED_MOD + listed(nested)
    files["mod.rs"] = MOD.replace("MODULES\n", listed([*(modules.keys() - nested), NESTED, "shared"]) + "\n")
    return files

"""py_wheel: the wheel that `pip wheel` would build, reproducibly, from the package's pyproject.toml."""

def _py_wheel_impl(ctx):
    # A folder, because the wheel's file name holds the version, which only pyproject.toml states.
    folder = ctx.actions.declare_directory(ctx.label.name)
    arguments = ctx.actions.args()
    arguments.add(ctx.file.project)
    arguments.add(folder.path)
    arguments.add_all(ctx.files.srcs)
    ctx.actions.run(
        executable = ctx.executable._builder,
        arguments = [arguments],
        inputs = ctx.files.srcs + [ctx.file.project],
        outputs = [folder],
        mnemonic = "PyWheel",
        progress_message = "Building the wheel of //%s" % ctx.label.package,
    )
    return [DefaultInfo(files = depset([folder]))]

py_wheel = rule(
    implementation = _py_wheel_impl,
    doc = "Runs the project's PEP 517 backend (setuptools) on its declared files. Output: <name>/<wheel file>.",
    attrs = {
        "project": attr.label(
            allow_single_file = ["pyproject.toml"],
            mandatory = True,
            doc = "The pyproject.toml; its folder is the project.",
        ),
        "srcs": attr.label_list(
            allow_files = True,
            doc = "Every other file of the project that the wheel is made from.",
        ),
        "_builder": attr.label(
            default = "//third_party/wheels:build_wheel",
            executable = True,
            cfg = "exec",
        ),
    },
)

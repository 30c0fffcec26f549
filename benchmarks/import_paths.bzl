"""import_paths: lists where Python would find the given libraries, for a program that starts other programs."""

def _import_paths_impl(ctx):
    listing = ctx.actions.declare_file(ctx.label.name)
    to_runfiles = "/".join([".."] * (1 + len(ctx.label.package.split("/"))))
    paths = depset(transitive = [dep[PyInfo].imports for dep in ctx.attr.deps])
    ctx.actions.write(listing, "".join(["%s/%s\n" % (to_runfiles, path) for path in paths.to_list()]))
    runfiles = ctx.runfiles(files = [listing])
    for dep in ctx.attr.deps:
        runfiles = runfiles.merge(dep[DefaultInfo].default_runfiles)
    return [DefaultInfo(files = depset([listing]), runfiles = runfiles)]

import_paths = rule(
    implementation = _import_paths_impl,
    doc = "Writes a file with the import path of each library, one per line, relative to the file's place in the runfiles.",
    attrs = {"deps": attr.label_list(providers = [PyInfo])},
)

"""pip_repository: wheels of a lock file, all or some, each a target of its own.

pip downloads the wheels and checks their hashes; install_wheels.py unpacks each into its own folder and
writes the BUILD file. A program can then import only what its target depends on.
"""

def _python_with_pip(rctx):
    """The interpreter when it has pip; otherwise a virtual environment of it that does."""
    python = rctx.path(rctx.attr.interpreter)
    if rctx.execute([python, "-m", "pip", "--version"]).return_code == 0:
        return python
    made = rctx.execute([python, "-m", "venv", "with_pip"])
    if made.return_code != 0:
        fail("{python} has neither pip nor ensurepip, so the packages of {lock} cannot be installed:\n{error}\nInstall pip for it (Debian: python3-pip or python3-venv).".format(
            python = python,
            lock = rctx.attr.lock,
            error = made.stdout + made.stderr,
        ))
    return rctx.path("with_pip/bin/python")

def _run(rctx, arguments, doing):
    result = rctx.execute(arguments, timeout = 1800)
    if result.return_code != 0:
        fail("%s of %s failed:\n%s" % (doing, rctx.attr.lock, result.stdout + result.stderr))

def _entries(lock, packages):
    """The entries of a lock file that are of these packages; all of them where none are named."""
    kept, is_kept = [], True
    for line in lock.splitlines():
        if line and line[0] not in " #":  # the first line of an entry; its hashes are indented
            is_kept = not packages or line.partition("==")[0].replace("-", "_") in packages
        if is_kept:
            kept.append(line)
    return "\n".join(kept) + "\n"

def _pip_repository_impl(rctx):
    python = _python_with_pip(rctx)
    rctx.file("requirements.txt", _entries(rctx.read(rctx.path(rctx.attr.lock)), rctx.attr.packages))
    pip = [python, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    locked = ["--no-deps", "--require-hashes", "--only-binary=:all:", "--requirement", "requirements.txt"]
    rctx.file("wheels/README", "Wheels, until they are unpacked.")
    _run(rctx, pip + locked + ["--dest", "wheels"], "Downloading the packages")
    others = ["%s=%s" % (package, repository) for package, repository in rctx.attr.others.items()]
    _run(rctx, [python, rctx.path(rctx.attr._installer), "wheels"] + others, "Installing the packages")
    rctx.delete("wheels")
    rctx.delete("with_pip")

pip_repository = repository_rule(
    implementation = _pip_repository_impl,
    doc = "One py_library per package of the lock, named like it with `_` for `-`.",
    attrs = {
        "interpreter": attr.label(mandatory = True, doc = "The Python to install for."),
        "lock": attr.label(mandatory = True, doc = "A requirements file with versions and hashes."),
        "others": attr.string_dict(doc = "By package, the pip_repository that has it, for requirements which this one leaves out."),
        "packages": attr.string_list(doc = "The packages of the lock to install, named like their targets; by default all."),
        "_installer": attr.label(default = "//third_party/python:install_wheels.py"),
    },
)

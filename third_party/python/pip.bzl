"""pip_repository: the wheels of a lock file, each a target of its own.

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

def _pip_repository_impl(rctx):
    python = _python_with_pip(rctx)
    pip = [python, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    locked = ["--no-deps", "--require-hashes", "--only-binary=:all:", "--requirement", rctx.path(rctx.attr.lock)]
    _run(rctx, pip + locked + ["--dest", "wheels"], "Downloading the packages")
    _run(rctx, [python, rctx.path(rctx.attr._installer), "wheels", rctx.attr.base], "Installing the packages")
    rctx.delete("wheels")
    rctx.delete("with_pip")

pip_repository = repository_rule(
    implementation = _pip_repository_impl,
    doc = "One py_library per package of the lock, named like it with `_` for `-`.",
    attrs = {
        "base": attr.string(doc = "The pip_repository that holds requirements which this lock leaves out."),
        "interpreter": attr.label(mandatory = True, doc = "The Python to install for."),
        "lock": attr.label(mandatory = True, doc = "A requirements file with versions and hashes."),
        "_installer": attr.label(default = "//third_party/python:install_wheels.py"),
    },
)

"""python_interpreter: finds the Python of a lane on this machine and makes it a py_runtime.

The runtime is a virtual environment without any package, so that programs see the standard library
and what their targets declare, never what happens to be installed beside the interpreter.
"""

_DESCRIBE = "import sys; print('%d.%d' % sys.version_info[:2]); print(sys.executable)"

_BUILD = """\
package(default_visibility = ["//visibility:public"])

exports_files(["python"])

py_runtime(
    name = "runtime",
    interpreter_path = "{environment}/bin/python",
    python_version = "PY3",
    stub_shebang = "#!{environment}/bin/python",
)
"""

def _candidates(rctx):
    """Files that may be the interpreter, in order of preference."""
    version = rctx.attr.version
    paths = [path for path in [rctx.which("python" + version), rctx.which("python3")] if path]
    home = rctx.os.environ.get("HOME", "")
    for root in [rctx.os.environ.get("PYENV_ROOT", ""), home + "/.pyenv" if home else ""]:
        versions = rctx.path(root + "/versions") if root else None
        if versions and versions.exists:
            paths += [
                folder.get_child("bin").get_child("python" + version)
                for folder in versions.readdir()
                if folder.basename == version or folder.basename.startswith(version + ".")
            ]
    paths.append(rctx.path("/usr/local/bin/python" + version))
    return [path for path in paths if path.exists]

def _describe(rctx, path):
    """[version, executable] as the candidate tells them, or None when it does not start."""
    answer = rctx.execute([path, "-I", "-c", _DESCRIBE], working_directory = "/")
    return answer.stdout.splitlines() if answer.return_code == 0 else None

def _python_interpreter_impl(rctx):
    looked_at = []
    for path in _candidates(rctx):
        found = _describe(rctx, path)
        if found and found[0] == rctx.attr.version:
            rctx.symlink(found[1], "python")
            rctx.symlink(found[1], "environment/bin/python")
            rctx.file("environment/pyvenv.cfg", "home = %s\ninclude-system-site-packages = false\n" %
                                                rctx.path(found[1]).dirname)
            rctx.file("BUILD", _BUILD.format(environment = rctx.path("environment")))
            return
        looked_at.append("%s (%s)" % (path, "Python " + found[0] if found else "does not start"))
    fail("""No Python {version} was found, which {name} needs.
Looked for python{version} and python3 on PATH, then python{version} in the versions of pyenv ($PYENV_ROOT, ~/.pyenv), then in /usr/local/bin.
Found: {looked_at}.
Install Python {version} (for example `pyenv install {version}`), or choose a lane whose Python is there: --config=py311, --config=py312.""".format(
        version = rctx.attr.version,
        name = rctx.name,
        looked_at = ", ".join(looked_at) or "nothing",
    ))

python_interpreter = repository_rule(
    implementation = _python_interpreter_impl,
    doc = "Targets: `:runtime` (py_runtime) and `:python` (the interpreter itself, with whatever is installed in it).",
    attrs = {"version": attr.string(mandatory = True, doc = "Major and minor, such as 3.11.")},
    environ = ["PYENV_ROOT"],
)

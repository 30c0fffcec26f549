"""Builds the documentation's site, or serves it while pages are written.

    ./bazelw run //docs:serve
    ./bazelw run //docs:site -- --to=/tmp/site

Started by Bazel, it reads the pages and the packages' sources of the checkout, so that `serve` shows changes at once.
"""

from __future__ import annotations

import argparse
import os
import pathlib


def build(to: pathlib.Path, checkout: pathlib.Path) -> None:
    """Writes the site into a folder."""
    from mkdocs.commands.build import build as build_pages
    from mkdocs.config import load_config

    os.environ["NO_MKDOCS_2_WARNING"] = "1"
    os.chdir(checkout)
    config = load_config(str(checkout / "mkdocs.yml"), site_dir=str(to))
    config.plugins.on_startup(command="build", dirty=False)
    build_pages(config)


def serve(address: str, checkout: pathlib.Path) -> None:
    """Serves the site at an address of this machine until it is interrupted, and builds it again when a page changes."""
    from mkdocs.commands.serve import serve as serve_pages

    os.environ["NO_MKDOCS_2_WARNING"] = "1"
    os.chdir(checkout)
    serve_pages(str(checkout / "mkdocs.yml"), dev_addr=address)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["build", "serve"])
    parser.add_argument("--to", type=pathlib.Path, default=pathlib.Path("site"), help="the folder of the site")
    parser.add_argument("--address", default="127.0.0.1:8000", help="where to serve it")
    options = parser.parse_args()
    checkout = pathlib.Path(os.environ.get("BUILD_WORKSPACE_DIRECTORY", os.getcwd()))
    if options.command == "serve":
        serve(options.address, checkout)
    else:
        to = pathlib.Path(os.environ.get("BUILD_WORKING_DIRECTORY", os.getcwd()), options.to)
        build(to, checkout)
        print(f"the site is in {to}")


if __name__ == "__main__":
    main()

"""Runs llama-cpp-python's server and ends with whoever has started it.

``server`` starts this file by its path, in a Python that need not have this
package; so it imports the standard library only. Its standard input is a pipe
that nothing is written to: it ends when the starting process does, however that
happens, and a model server must not stay behind.
"""

from __future__ import annotations

import os
import runpy
import sys
import threading

SERVER = "llama_cpp.server"


def _end_with_parent() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    sys.argv[0] = SERVER
    sys.path.pop(0)  # the folder of this file
    runpy.run_module(SERVER, run_name="__main__", alter_sys=True)

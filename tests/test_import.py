import subprocess
import sys

HEAVY = "torch transformers matplotlib datasets pyarrow fastapi onnxruntime ctranslate2".split()


def test_import_stays_light() -> None:
    program = f"import sys, readlet; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_commands_that_need_no_tensors_load_none() -> None:
    program = (
        "import sys; from readlet.cli import main\n"
        "sys.argv = ['readlet', 'evaluate', 'baseline', 'bundled:test', '--json']\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"

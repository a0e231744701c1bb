"""Read documents with MarkItDown: read_markitdown.py FILE… Print one line of JSON per file: `text` and `cpu_seconds`."""

import json
import sys
import time

from markitdown import MarkItDown

reader = MarkItDown()
for name in sys.argv[1:]:
    began = time.process_time()
    try:
        text = reader.convert(name).text_content
    except Exception as error:  # A format that it does not know has no text.
        text = ""
        print(f"{name}: {type(error).__name__}", file=sys.stderr)
    print(json.dumps({"text": text, "cpu_seconds": time.process_time() - began}))

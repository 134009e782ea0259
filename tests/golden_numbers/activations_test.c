/* activations_test.c -- activations and states of one rank against Korthikanti et al. 2022
 * (arXiv:2205.05198): table 2 and figure 1, on the paper's models and degrees, first stage.
 *
 * s tokens, b sequences, width h, a heads, t = tp; bytes of one layer and micro-batch. Ours is the
 * paper's formula with these terms, each counted here by itself, and nothing else:
 *   scores   - 5 a s^2 b / t   attention never keeps scores, their softmax, or its mask
 *   masks    - 2 s b h         two masks of one byte; ours are made again from the counter
 *   sums     + 4 a s b / t     one fp32 logarithm of a sum per head and token, of attention
 *   norms    + 16 s b          mean and deviation in fp32, of two norms
 * With sequence parallelism masks and norms are cut by t. There the paper gathers the inputs of the
 * cut matrices again in backward, as regather does; keeping them is
 *   inputs   + 4 s b h (1 - 1/t)
 */
#include "tests/golden_numbers/golden.h"
#include "tests/unit/check.h"

/* Figure 1 in GiB = 2^30 bytes: with nothing recomputed and tp alone; with scores recomputed and
 * sequence parallelism. */
typedef struct Paper {
  const char *name;
  int64_t h, a, layers, b, p, v;
  double states_gib, tensor_gib, sequence_gib;
} Paper;

static const Paper papers[] = {
    {"22B", 6144, 64, 48, 4, 1, 1, 45.5625, 59.25, 9.5625},
    {"175B", 12288, 96, 96, 1, 8, 3, 45.5625, 66.84375, 12.3515625},
    {"530B", 20480, 128, 105, 1, 35, 3, 31.640625, 114.0234375, 23.076171875},
    {"1T", 25600, 160, 128, 1, 64, 1, 32.958984375, 131.25, 26.5625},
};

enum { S = 2048, T = 8 };
static const double gib = 1073741824.0;

/* Equal chunks: "4, 4, 4". */
static void stages_text(const Paper *p, char *text, size_t size) {
  text[0] = 0;
  for (int64_t c = 0; c < p->p * p->v; c++) {
    size_t length = strlen(text);
    (void)snprintf(text + length, size - length, "%s%lld", c ? ", " : "",
                   (long long)(p->layers / (p->p * p->v)));
  }
}

/* With the paper's pipeline and enough micro-batches to fill it, or on one stage, where only one
 * layer is looked at. */
static void open_paper(Golden *g, const Paper *p, bool in_stages, const char *parallel,
                       const char *recompute) {
  char stages[1024], pipeline[1280] = "";
  int64_t count = in_stages ? p->p : 1, microbatches = p->v > 1 ? 2 * count : count;
  stages_text(p, stages, sizeof stages);
  if (count > 1)
    (void)snprintf(pipeline, sizeof pipeline, "pp = %lld, stages = { %s }, pipeline = %s",
                   (long long)count, stages,
                   p->v > 1 ? "{ \"interleaved\", chunks = 3 }" : "\"1f1b\"");
  golden_open(g,
              "model = { \"gpt2\", layers = %lld, width = %lld, heads = %lld, vocab = 51200, "
              "positions = %d, dropout = 0.1 }, "
              "train = { batch = \"%lld sequences\", microbatch = %lld, steps = 1 }, "
              "memory = { recompute = \"%s\" }, parallel = { tp = %d, %s, %s }, "
              "cluster = { \"dgx-a100\", nodes = %lld, memory = \"1000TB\" },",
              (long long)p->layers, (long long)p->h, (long long)p->a, S,
              (long long)microbatches * (long long)p->b, (long long)p->b, recompute, T, parallel,
              pipeline, (long long)count);
  CHECK(g->is_compiled);
}

/* Layers times micro-batches whose activations the first stage holds: of 1f1b all layers of the
 * model, of interleaved (1 + (p-1) / (p v)) times as many. */
static int64_t layers_held(const Paper *p) {
  if (p->v == 1) return p->layers;
  return p->layers * (p->p * p->v + p->p - 1) / (p->p * p->v);
}

typedef struct Layer {
  int64_t sbh, scores, sums, norms; /* in bytes of one byte an element; the others as above */
} Layer;

static Layer layer_of(const Paper *p) {
  return (Layer){
      .sbh = S * p->b * p->h,
      .scores = 5 * p->a * S * S * p->b / T,
      .sums = 4 * p->a * S * p->b / T,
      .norms = 16 * S * p->b,
  };
}

/* The bytes that the plan keeps of one layer: its frame and its input. */
static int64_t layer_bytes(const Golden *g) {
  return golden_buffer_bytes(g->plan, 0, "h kept for backward") +
         golden_buffer_bytes(g->plan, 0, "h output");
}

/* The formula is the figure's; ours is the formula with its terms; and the ledger has exactly as
 * many layers and micro-batches of it as the paper says. */
static void check_held(const Golden *g, const Paper *p, int64_t paper, int64_t terms,
                       double printed_gib) {
  int64_t held = layers_held(p);
  CHECK_NEAR((double)(held * paper) / gib, printed_gib, 0);
  CHECK_INT(layer_bytes(g), paper + terms);
  CHECK_INT(golden_most_alive(g->plan, 0, "h kept for backward"),
            held * (paper + terms - golden_buffer_bytes(g->plan, 0, "h output")));
}

/* Weights of the stack's matrices: 2 bytes, their gradients 4, states 12: the paper's 18 bytes for
 * 12 L h^2 / (t p) of them. It leaves out biases, norms, positions and the table of words. */
static int64_t matrix_bytes(const Plan *plan) {
  const PlanClass *class = &plan->classes[0];
  int64_t bytes = 0;
  for (uint32_t i = 0; i < class->tensors_count; i++) {
    const PlanTensor *tensor = &plan->tensors[class->tensors_first + i];
    if (tensor->layer_first < 0 || !tensor->decay) continue;
    bytes += (int64_t)tensor->size_bytes * tensor->layer_count;
  }
  return bytes;
}

static void test_tensor(const Paper *p) {
  Layer l = layer_of(p);
  Golden g;
  TEST("tp: s b h (10 + 24/t) + 5 a s^2 b / t; states 18 bytes of 12 L h^2 / (t p)") {
    open_paper(&g, p, true, "sequence = false", "none");
    if (g.is_compiled) {
      CHECK_NEAR((double)matrix_bytes(g.plan) / gib, p->states_gib, 0);
      check_held(&g, p, 10 * l.sbh + 24 * l.sbh / T + l.scores,
                 -l.scores - 2 * l.sbh + l.sums + l.norms, p->tensor_gib);
    }
    golden_close(&g);
  }
}

static void test_sequence(const Paper *p) {
  Layer l = layer_of(p);
  Golden g;
  TEST("tp with sequence, no scores: 34 s b h / t") {
    open_paper(&g, p, true, "regather = true", "none");
    if (g.is_compiled)
      check_held(&g, p, 34 * l.sbh / T, -2 * l.sbh / T + l.sums + l.norms / T, p->sequence_gib);
    golden_close(&g);
  }
  TEST("tp with sequence, inputs kept whole") {
    open_paper(&g, p, false, "regather = false", "none");
    if (g.is_compiled)
      CHECK_INT(layer_bytes(&g),
                34 * l.sbh / T - 2 * l.sbh / T + l.sums + l.norms / T + 4 * l.sbh - 4 * l.sbh / T);
    golden_close(&g);
  }
}

static void test_alone(void) {
  static const Paper small = {.h = 1024, .a = 16, .layers = 4, .b = 4};
  Layer l = layer_of(&small);
  Golden g;
  TEST("one rank: s b h (34 + 5 a s / h), with t = 1 in every term") {
    golden_open(&g,
                "model = { \"gpt2\", layers = 4, width = 1024, heads = 16, vocab = 51200, "
                "positions = %d, dropout = 0.1 }, "
                "train = { batch = \"4 sequences\", microbatch = 4, steps = 1 }, "
                "memory = { recompute = \"none\" }, cluster = { \"dgx-a100\", devices = 1 },",
                S);
    CHECK(g.is_compiled);
    int64_t paper = 34 * l.sbh + T * l.scores;
    if (g.is_compiled)
      CHECK_INT(layer_bytes(&g), paper - T * l.scores - 2 * l.sbh + T * l.sums + l.norms);
    golden_close(&g);
  }
}

static void test_recompute(const Paper *p) {
  Layer l = layer_of(p);
  Golden g;
  TEST("recompute: 2 s b h a layer, and one layer at a time made again") {
    open_paper(&g, p, false, "sequence = false", "block");
    if (g.is_compiled) {
      CHECK_INT(golden_buffer_bytes(g.plan, 0, "h output"), 2 * l.sbh);
      CHECK_INT(golden_most_alive(g.plan, 0, "h kept for backward"), 0);
    }
    golden_close(&g);
  }
  TEST("recompute with sequence: 2 s b h / t a layer") {
    open_paper(&g, p, false, "sequence = true", "block");
    if (g.is_compiled) CHECK_INT(golden_buffer_bytes(g.plan, 0, "h output"), 2 * l.sbh / T);
    golden_close(&g);
  }
  TEST("selective: s b h (4 + 16/t): the stream twice, and what products and attention made") {
    open_paper(&g, p, false, "sequence = false", "selective");
    if (g.is_compiled) CHECK_INT(layer_bytes(&g), 4 * l.sbh + 16 * l.sbh / T + l.sums);
    golden_close(&g);
  }
}

/* ---- what the textbooks say of recomputation and of attention */

typedef struct Kept {
  int64_t activations, flops; /* most at once; of layers in one step */
  int64_t group_layers;
} Kept;

static Kept kept_by(const char *recompute) {
  Golden g;
  golden_open(&g,
              "model = { \"llama\", layers = 32, width = 4096, heads = 32, ffn = 11008, "
              "vocab = 32000, positions = 4096 }, train = { batch = \"1 sequences\", steps = 1 }, "
              "memory = { recompute = \"%s\" }, cluster = { \"dgx-h100\", devices = 1, "
              "memory = \"1000TB\" },",
              recompute);
  CHECK(g.is_compiled);
  Kept kept = {0};
  if (g.is_compiled) {
    kept = (Kept){golden_most_alive(g.plan, 0, "model.layers *"),
                  golden_flops(g.plan, 0, "model.layers.*ward") +
                      golden_flops(g.plan, 0, "model.layers.recompute"),
                  g.compiled.recompute.group_layers};
  }
  golden_close(&g);
  return kept;
}

static void test_groups(void) {
  Kept none = kept_by("none"), groups = kept_by("sqrt"), every = kept_by("block");
  Kept selective = kept_by("selective");
  TEST("selective: no product and no attention is made again") {
    CHECK_INT(selective.flops, none.flops);
  }
  TEST("recompute in groups of the root of 32 layers: six of six, 80 % of activations saved") {
    CHECK_INT(groups.group_layers, 6);
    CHECK_NEAR(1 - (double)groups.activations / (double)none.activations, 0.80, 0.01);
  }
  TEST("recompute costs a third more at most: what backward does not read is not made again") {
    double more = (double)every.flops / (double)none.flops - 1;
    double most = (double)groups.flops / (double)none.flops - 1;
    CHECK(more > 0.2 && more < most);
    CHECK(most > 0.3 && most <= 1.0 / 3);
  }
}

/* The bytes that a layer keeps, with one head of 128: scores would be one square matrix. */
static int64_t attention_bytes(int64_t tokens) {
  Golden g;
  golden_open(&g,
              "model = { \"gpt2\", layers = 1, width = 128, heads = 1, vocab = 256, "
              "positions = %lld }, train = { batch = \"1 sequences\", steps = 1 }, "
              "memory = { recompute = \"none\" }, cluster = { \"dgx-h100\", devices = 1 },",
              (long long)tokens);
  CHECK(g.is_compiled);
  int64_t bytes = g.is_compiled ? golden_most_alive(g.plan, 0, "h *") : 0;
  golden_close(&g);
  return bytes;
}

/* The header's formula for width and head 128, in bytes a token: 34 h of the paper less 2 h of
 * masks, a logarithm of sums, and two norms. One head's scores would be two bytes a pair. */
static void test_scores(void) {
  enum { TOKENS = 100000, TOKEN_BYTES = 32 * 128 + 4 + 16 };
  TEST("100,000 tokens: scores would be 20 GB; a whole layer keeps 0.41 GB, and twice the half's") {
    int64_t half = attention_bytes(TOKENS / 2), whole = attention_bytes(TOKENS);
    CHECK_INT(whole, 2 * half);
    CHECK_INT(whole, (int64_t)TOKENS * TOKEN_BYTES);
    CHECK_NEAR(2.0 * TOKENS * TOKENS, 20e9, 0);
    CHECK_NEAR((double)whole, 0.41e9, 0.005e9);
  }
}

int main(void) {
  test_alone();
  test_groups();
  test_scores();
  for (size_t i = 0; i < sizeof papers / sizeof *papers; i++) {
    int failures = check_failures;
    test_tensor(&papers[i]);
    test_sequence(&papers[i]);
    test_recompute(&papers[i]);
    if (check_failures > failures) printf("%s: see above\n", papers[i].name);
  }
  CHECK_DONE();
}

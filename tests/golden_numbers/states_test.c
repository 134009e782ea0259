/* states_test.c -- model states of one rank against the ZeRO paper's table 1 (Rajbhandari et al.
 * 2020, arXiv:1910.02054): parameters and gradients of 2 bytes, 12 bytes of fp32 master weights and
 * moments.
 *
 * The models consist of matrices only, and have exactly as many parameters as the table says. Ours
 * differs from the paper in one term, padding, which is counted here by itself: a parameter cut
 * over N ranks is padded to N pieces of a multiple of 32 elements; the layers of a block begin at
 * multiples of 128 elements. */
#include "tests/golden_numbers/golden.h"
#include "tests/unit/check.h"

typedef struct Size {
  int64_t parameters;
  int64_t layers, width, hidden; /* 2 x width x hidden parameters a layer */
} Size;

static const Size sizes[] = {
    {7500000000, 75, 10000, 5000},
    {128000000000, 128, 25000, 20000},
    {1000000000000, 1000, 25000, 20000},
};

/* GB = 1e9 bytes, as printed: rows dp 1, 4, 16, 64, 256, 1024; columns Pos, Pos+g, Pos+g+p. */
static const double printed[3][6][3] = {
    {{120, 120, 120},
     {52.5, 41.3, 30},
     {35.6, 21.6, 7.5},
     {31.4, 16.6, 1.88},
     {30.4, 15.4, 0.47},
     {30.1, 15.1, 0.12}},
    {{2048, 2048, 2048},
     {896, 704, 512},
     {608, 368, 128},
     {536, 284, 32},
     {518, 263, 8},
     {513, 257, 2}},
    {{16000, 16000, 16000},
     {7000, 5500, 4000},
     {4750, 2875, 1000},
     {4187, 2218, 250},
     {4046, 2054, 62.5},
     {4011, 2013, 15.6}},
};

/* Half a unit of the last printed digit, or a whole one: the table rounds some cells down. */
static double last_digit(double value) {
  double unit = 1;
  while (fabs(value / unit - round(value / unit)) > 1e-6)
    unit /= 10;
  return unit * 1.0001;
}

static int64_t padded(int64_t n, int64_t grain) {
  return (n + grain - 1) / grain * grain;
}

/* Elements of padding of one rank in what holds a matrix whole (`part` = 1), or its piece. */
static int64_t padding_elements(const Size *size, int64_t ranks, bool is_cut, bool is_piece) {
  int64_t matrix = size->width * size->hidden;
  int64_t piece = padded((matrix + (is_cut ? ranks : 1) - 1) / (is_cut ? ranks : 1), 32);
  int64_t stands = is_piece ? piece : piece * (is_cut ? ranks : 1);
  return size->layers * (padded(2 * stands, 128) - 2 * (is_piece ? matrix / ranks : matrix));
}

static int64_t kind_bytes(const Golden *g, BufferKind kind) {
  return golden_state_bytes(g->plan, 0, kind);
}

static void check_cell(const Size *size, int64_t ranks, int zero, double in_table_gb) {
  Golden g;
  golden_open(&g,
              "model = { \"%s/models/squares.lua\", width = %lld, hidden = %lld, layers = %lld }, "
              "train = { batch = \"%lld samples\", steps = 1 }, memory = { recompute = \"none\" }, "
              "precision = { \"bf16\", grad = \"bf16\" }, parallel = { zero = %d }, "
              "cluster = { \"dgx-a100\", nodes = %lld, devices = %lld, memory = \"1000TB\" },",
              GOLDEN_FOLDER, (long long)size->width, (long long)size->hidden,
              (long long)size->layers, (long long)ranks, ranks > 1 ? zero : 0,
              (long long)(ranks < 8 ? 1 : ranks / 8), (long long)(ranks < 8 ? ranks : 8));
  CHECK(g.is_compiled);
  if (g.is_compiled) {
    CHECK_INT(g.compiled.parameters, size->parameters);
    bool is_cut = ranks > 1;
    int64_t whole = padding_elements(size, ranks, is_cut, false);
    int64_t piece = is_cut ? padding_elements(size, ranks, true, true) : whole;
    int64_t param = kind_bytes(&g, BUFFER_PARAM) - 2 * (zero == 3 ? piece : whole);
    int64_t grad = kind_bytes(&g, BUFFER_GRAD) - 2 * (zero >= 2 ? piece : whole);
    int64_t states = kind_bytes(&g, BUFFER_MASTER) + kind_bytes(&g, BUFFER_MOMENT1) +
                     kind_bytes(&g, BUFFER_MOMENT2) - 12 * piece;
    int64_t matrices = 2 * size->layers, matrix = size->parameters / matrices;
    int64_t share = matrices * (matrix / ranks); /* the paper divides; a rest is in the padding */
    CHECK_INT(param, 2 * (zero == 3 ? share : size->parameters));
    CHECK_INT(grad, 2 * (zero >= 2 ? share : size->parameters));
    CHECK_INT(states, 12 * share);
    CHECK_NEAR((double)(param + grad + states) * 1e-9, in_table_gb, last_digit(in_table_gb));
  }
  golden_close(&g);
}

int main(void) {
  static const int64_t ranks[] = {1, 4, 16, 64, 256, 1024};
  for (int s = 0; s < 3; s++)
    for (int r = 0; r < 6; r++) {
      TEST("zero 1: 4P + 12P/N") check_cell(&sizes[s], ranks[r], 1, printed[s][r][0]);
      TEST("zero 2: 2P + 14P/N") check_cell(&sizes[s], ranks[r], 2, printed[s][r][1]);
      TEST("zero 3: 16P/N") check_cell(&sizes[s], ranks[r], 3, printed[s][r][2]);
    }
  CHECK_DONE();
}

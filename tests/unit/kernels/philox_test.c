/* LINK: kernels -- Philox against its authors' vectors; bf16 against its definition. */
#include "kernels/math/bf16.h"
#include "kernels/math/philox.h"
#include "tests/unit/check.h"

/* The known answers Random123 publishes for "philox4x32 10" (kat_vectors). */
static const struct {
  uint32_t counter[4], key[2], want[4];
} vectors[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

static uint64_t join(const uint32_t word[2]) {
  return word[0] | (uint64_t)word[1] << 32;
}

static void test_philox(void) {
  TEST("the published vectors come out") {
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
      uint32_t out[4];
      philox4(join(vectors[i].key), join(vectors[i].counter + 2), join(vectors[i].counter), out);
      for (int lane = 0; lane < 4; lane++)
        CHECK_INT(out[lane], vectors[i].want[lane]);
    }
  }
  TEST("uniform and normal have their first two moments") {
    enum { BLOCKS = 50000 };
    double sum = 0, square = 0, uniform = 0, highest = 0;
    for (uint64_t block = 0; block < BLOCKS; block++) {
      uint32_t word[4];
      double normal[4];
      philox4(7, 0, block, word);
      philox_normal4(word, normal);
      for (int lane = 0; lane < 4; lane++) {
        sum += normal[lane];
        square += normal[lane] * normal[lane];
        uniform += philox_uniform(word[lane]);
        highest = fmax(highest, philox_uniform(word[lane]));
      }
    }
    double n = 4.0 * BLOCKS; /* bounds are 4 standard errors */
    CHECK_NEAR(sum / n, 0, 4 / sqrt(n));
    CHECK_NEAR(square / n, 1, 4 * sqrt(2 / n));
    CHECK_NEAR(uniform / n, 0.5, 4 * sqrt(1 / (12 * n)));
    CHECK(highest < 1);
  }
  TEST("extreme words stay finite") {
    uint32_t word[4] = {0, 0, UINT32_MAX, UINT32_MAX};
    double normal[4];
    philox_normal4(word, normal);
    for (int lane = 0; lane < 4; lane++)
      CHECK(fabs(normal[lane]) < 7);
  }
  TEST("dropout keeps its share, and other steps keep others") {
    int64_t kept = 0, same = 0, n = 100000;
    uint32_t threshold = philox_threshold(0.1);
    for (int64_t i = 0; i < n; i++) {
      bool first = philox_keep(5, 1, i, threshold), second = philox_keep(5, 2, i, threshold);
      kept += first;
      same += first == second;
    }
    CHECK_NEAR((double)kept / (double)n, 0.9, 4 * sqrt(0.09 / (double)n));
    CHECK_NEAR((double)same / (double)n, 0.82, 4 * sqrt(0.82 * 0.18 / (double)n));
    CHECK_INT(philox_threshold(0), 0);
    CHECK_INT(philox_threshold(0.5), 0x80000000u);
  }
  TEST("mixing is not symmetric and separates neighbours") {
    CHECK(philox_mix(1, 2) != philox_mix(2, 1));
    CHECK(philox_mix(0, 0) != philox_mix(0, 1));
    CHECK(philox_mix(0, 0) != 0);
  }
}

static uint16_t rounded(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return bf16_from_float(value);
}

/* Both neighbours are known exactly; the nearer one is right, and the even one half-way. */
static void test_bf16(void) {
  TEST("every bf16 survives the way to f32 and back") {
    for (uint32_t bits = 0; bits < 65536; bits++) {
      int nan = (bits & 0x7f80) == 0x7f80 && (bits & 0x7f) != 0;
      CHECK_INT(rounded(bits << 16), nan ? bits | 0x40 : bits);
      float value = bf16_to_float((uint16_t)bits);
      CHECK(nan ? value != value : value == value);
    }
  }
  TEST("what lies between two bf16 goes to the nearer, ties to the even one") {
    for (uint32_t bits = 0; bits < 65536; bits++) {
      if ((bits & 0x7f80) == 0x7f80) continue;
      CHECK_INT(rounded(bits << 16 | 0x0001), bits);
      CHECK_INT(rounded(bits << 16 | 0x7fff), bits);
      CHECK_INT(rounded(bits << 16 | 0x8000), bits + (bits & 1));
      CHECK_INT(rounded(bits << 16 | 0x8001), bits + 1);
      CHECK_INT(rounded(bits << 16 | 0xffff), bits + 1);
    }
  }
  TEST("a NaN whose payload lies in the lower half stays a NaN") {
    CHECK_INT(rounded(0x7f800001), 0x7fc0);
    CHECK_INT(rounded(0xffffffff), 0xffff);
  }
}

int main(void) {
  test_philox();
  test_bf16();
  CHECK_DONE();
}

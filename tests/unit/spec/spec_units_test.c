/* LINK: job base */
#include "compiler/job/units.h"
#include "tests/unit/check.h"

static double count_of(const char *text) {
  double number = -1;
  return units_count(text, &number) ? number : -1;
}

static double bytes_of(const char *text) {
  double number = -1;
  return units_bytes(text, &number) ? number : -1;
}

static double seconds_of(const char *text) {
  double number = -1;
  return units_duration(text, &number) ? number : -1;
}

static double latency_of(const char *text) {
  double number = -1;
  return units_latency(text, &number) ? number : -1;
}

static void test_numbers(void) {
  TEST("counts take decimal and binary scales, powers and exponents") {
    CHECK_NEAR(count_of("8"), 8, 0);
    CHECK_NEAR(count_of("16Mi"), 16777216, 0);
    CHECK_NEAR(count_of("512k"), 512000, 0);
    CHECK_NEAR(count_of("2^19"), 524288, 0);
    CHECK_NEAR(count_of("3e5"), 300000, 0);
    CHECK_NEAR(count_of("0.5Ki"), 512, 0);
  }
  TEST("counts are not hexadecimal, infinite, negative or followed by anything") {
    static const char *const bad[] = {"",    "0x10", "inf",   "nan",   "-1",  "8 ",
                                      "1 k", "k",    "1e999", "2^9^9", "1KiB"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
      CHECK_NEAR(count_of(bad[i]), -1, 0);
  }
  TEST("bytes say B, and GB is not GiB") {
    CHECK_NEAR(bytes_of("80GB"), 80e9, 0);
    CHECK_NEAR(bytes_of("80GiB"), 80.0 * 1073741824, 0);
    CHECK_NEAR(bytes_of("512B"), 512, 0);
    CHECK_NEAR(bytes_of("80G"), -1, 0);
    CHECK_NEAR(bytes_of("80gb"), -1, 0);
  }
  TEST("rates in bits are an eighth of rates in bytes") {
    double bits = 0, bytes = 0;
    CHECK(units_rate("400Gb/s", &bits) && units_rate("50GB/s", &bytes));
    CHECK_NEAR(bits, bytes, 0);
  }
}

static void test_times(void) {
  TEST("durations add their parts") {
    CHECK_NEAR(seconds_of("30m"), 1800, 0);
    CHECK_NEAR(seconds_of("1d12h"), 129600, 0);
    CHECK_NEAR(seconds_of("30"), -1, 0);
    CHECK_NEAR(seconds_of("30 m"), -1, 0);
    CHECK_NEAR(seconds_of(""), -1, 0);
  }
  TEST("latencies are of one unit below a second, to the nanosecond") {
    CHECK_NEAR(latency_of("800ns"), 800, 0);
    CHECK_NEAR(latency_of("5us"), 5000, 0);
    CHECK_NEAR(latency_of("3.4us"), 3400, 0);
    CHECK_NEAR(latency_of("1.5ms"), 1.5e6, 0);
    static const char *const bad[] = {"", "5", "us", "5 us", "5s", "1ms5us", "-5us", "5usx", "5m"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
      CHECK_NEAR(latency_of(bad[i]), -1, 0);
    Amount amount;
    CHECK(units_amount("5us", "ns", &amount) && amount.unit == UNIT_NANOSECONDS);
    CHECK(!units_amount("5us", "s|steps", &amount));
  }
}

int main(void) {
  test_numbers();
  test_times();
  TEST("an amount is read only in units that its key allows") {
    Amount amount;
    CHECK(units_amount("512Ki tokens", "tokens|sequences|samples", &amount));
    CHECK_NEAR(amount.value, 524288, 0);
    CHECK_INT(amount.unit, UNIT_TOKENS);
    CHECK(units_amount("1 epoch", "|tokens|epochs", &amount) && amount.unit == UNIT_EPOCHS);
    CHECK(units_amount("100", "|tokens|epochs", &amount) && amount.unit == UNIT_NONE);
    CHECK(units_amount("90%", "bytes|%", &amount) && amount.unit == UNIT_PERCENT);
    CHECK(units_amount("30m", "s|steps", &amount) && amount.unit == UNIT_SECONDS);
    CHECK(units_amount("5 steps", "s|steps", &amount) && amount.unit == UNIT_STEPS);
    CHECK(!units_amount("5 steps", "|tokens|epochs", &amount));
    CHECK(!units_amount("100", "tokens|sequences|samples", &amount));
  }
  TEST("counts print with the largest binary scale that is exact") {
    Arena *arena = arena_new();
    CHECK(strcmp(units_print_count(arena, 524288), "512Ki") == 0);
    CHECK(strcmp(units_print_count(arena, 1000), "1000") == 0);
    CHECK(strcmp(units_print_count(arena, 1048576), "1Mi") == 0);
    arena_free(arena);
  }
  return check_failures != 0;
}

/* product.c -- the choice by processor. See kernels/product.h. */
#include "kernels/product.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/tile.h"

static const char *const names[] = {
    [PRODUCT_REFERENCE] = "none",    [PRODUCT_AVX2] = "avx2",
    [PRODUCT_AVX512] = "avx512",     [PRODUCT_AVX512_BF16] = "avx512-bf16",
    [PRODUCT_AMX_BF16] = "amx-bf16", [PRODUCT_AMX_EMULATED] = "amx-bf16-emulated",
};
enum { PRODUCTS = sizeof names / sizeof *names };

const char *product_name(Product product) {
  return names[product];
}

typedef struct Processor {
  char vendor[13];
  uint32_t family, model;
} Processor;

enum { ANY_FAMILY = 0 };

typedef struct ProcessorRow {
  const char *vendor;
  uint32_t family, model_first, model_last;
  const char *name;
  Product f32, bf16;
  const char *because;
} ProcessorRow;

static const ProcessorRow rows[] = {
#define PROCESSOR(vendor, family, model_first, model_last, name, f32, bf16, because)               \
  {vendor, family, model_first, model_last, name, PRODUCT_##f32, PRODUCT_##bf16, because},
#define OTHER(vendor, f32, bf16, because)                                                          \
  {vendor, ANY_FAMILY, 0, 0, "not named", PRODUCT_##f32, PRODUCT_##bf16, because},
#include "kernels/cpu/processors.def"
};

#if defined(__x86_64__)

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

static Processor this_processor(void) {
  Processor p = {0};
  uint32_t a, b, c, d;
  if (!__get_cpuid(0, &a, &b, &c, &d)) return p;
  memcpy(p.vendor, &b, 4);
  memcpy(p.vendor + 4, &d, 4);
  memcpy(p.vendor + 8, &c, 4);
  if (!__get_cpuid(1, &a, &b, &c, &d)) return p;
  p.family = a >> 8 & 0xf;
  p.model = a >> 4 & 0xf;
  if (p.family == 0xf || p.family == 6) p.model += (a >> 16 & 0xf) << 4;
  if (p.family == 0xf) p.family += a >> 20 & 0xff;
  return p;
}

/* Conversions of fp16; not every compiler's __builtin_cpu_supports knows the word. */
static bool has_f16c(void) {
  uint32_t a, b, c, d;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c >> 29 & 1u);
}

/* Tiles: the processor has them for bf16 and the system saves their registers. */
static bool has_tiles(void) {
  uint32_t a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 27 & 1u)) return false; /* xgetbv */
  uint32_t saved, high;
  __asm__("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
  if ((saved >> 17 & 3u) != 3u) return false;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  return (d >> 22 & 1u) && (d >> 24 & 1u);
}

/* Linux gives the registers only to a process that asks for them, once for all its threads; it
 * refuses if a signal stack is too small for them. */
static bool ask_for_tiles(void) {
  enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
  return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
}

bool product_runs_here(Product product) {
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
  bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  switch (product) {
  case PRODUCT_REFERENCE: return true;
  case PRODUCT_AVX2:
  case PRODUCT_AMX_EMULATED: return avx2;
  case PRODUCT_AVX512: return avx512;
  case PRODUCT_AVX512_BF16: return avx512 && __builtin_cpu_supports("avx512bf16");
  case PRODUCT_AMX_BF16: return avx512 && has_tiles();
  }
  return false;
}

#else

static Processor this_processor(void) {
  return (Processor){"not x86-64", 0, 0};
}

static bool ask_for_tiles(void) {
  return false;
}

bool product_runs_here(Product product) {
  return product == PRODUCT_REFERENCE;
}

#endif

static bool fits(const ProcessorRow *row, const Processor *p) {
  if (strcmp(row->vendor, p->vendor) != 0) return false;
  if (row->family == ANY_FAMILY) return product_runs_here(row->bf16);
  return row->family == p->family && row->model_first <= p->model && p->model <= row->model_last;
}

static const ProcessorRow *row_of(const Processor *p) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (fits(&rows[i], p)) return &rows[i];
  return NULL;
}

static Product widest_f32(void) {
  return product_runs_here(PRODUCT_AVX512) ? PRODUCT_AVX512
         : product_runs_here(PRODUCT_AVX2) ? PRODUCT_AVX2
                                           : PRODUCT_REFERENCE;
}

const char *product_refusal(Product product) {
  if (!product_runs_here(product)) return "this processor or system does not have it";
  if (product == PRODUCT_AMX_BF16 && !ask_for_tiles())
    return "the system does not give tile registers to this process (arch_prctl)";
  if (product == PRODUCT_AMX_BF16 && !tiles_agree())
    return "its tiles do not compute what the processor's manual says";
  return NULL;
}

static void choose_by_processor(ProductChoice *choice, const ProcessorRow *row) {
  choice->f32 = choice->bf16 = widest_f32();
  choice->because = "not in the table of processors: the widest fp32 multiply-adds";
  if (row == NULL) return;
  choice->wanted = product_refusal(row->f32) ? row->f32 : row->bf16;
  choice->refusal = product_refusal(choice->wanted);
  choice->because = "the table's variant cannot be used: the widest fp32 multiply-adds";
  if (choice->refusal) return;
  choice->f32 = row->f32;
  choice->bf16 = row->bf16;
  choice->because = row->because;
}

/* Variants for bf16 alone leave fp32 the widest. Tiles are emulated where there are none. */
static void force(ProductChoice *choice, const char *name) {
  int product = 0;
  while (product < PRODUCTS && strcmp(names[product], name) != 0)
    product++;
  Product wanted = (Product)product;
  if (wanted == PRODUCT_AMX_BF16 && !product_runs_here(wanted)) wanted = PRODUCT_AMX_EMULATED;
  if (product == PRODUCTS) {
    (void)snprintf(choice->problem, sizeof choice->problem,
                   "LOCKSTEP_CPU=%.40s: there is no such variant; one of none, avx2, avx512, "
                   "avx512-bf16, amx-bf16, amx-bf16-emulated",
                   name);
    return;
  }
  const char *refusal = product_refusal(wanted);
  if (refusal) {
    (void)snprintf(choice->problem, sizeof choice->problem, "LOCKSTEP_CPU=%s: %s", name, refusal);
    return;
  }
  choice->bf16 = wanted;
  choice->f32 = wanted > PRODUCT_AVX512 ? widest_f32() : wanted;
  choice->because = "forced by LOCKSTEP_CPU";
}

static ProductChoice chosen;

static void choose(void) {
  Processor p = this_processor();
  const ProcessorRow *row = row_of(&p);
  memcpy(chosen.vendor, p.vendor, sizeof chosen.vendor);
  chosen.family = p.family;
  chosen.model = p.model;
  (void)snprintf(chosen.processor, sizeof chosen.processor, "%s family %u model %u (%s)", p.vendor,
                 p.family, p.model, row ? row->name : "unknown");
  const char *name = getenv("LOCKSTEP_CPU");
  if (name != NULL && *name != 0)
    force(&chosen, name);
  else
    choose_by_processor(&chosen, row);
}

const ProductChoice *product_choice(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, choose);
  return &chosen;
}

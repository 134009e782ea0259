/* version.c -- lockstep version. */
#include <string.h>

#include "compiler/show/cli/cli.h"
#include "kernels/product.h"

static void print_json(const ProductChoice *choice) {
  printf("{\"version\": \"%s\", \"plan_format\": %d", LOCKSTEP_VERSION, PLAN_VERSION);
  if (choice)
    printf(
        ",\n \"processor\": \"%s\",\n \"matrix_products\": {\"fp32\": \"%s\", \"bf16\": \"%s\"},\n"
        " \"because\": \"%s\"",
        choice->processor, product_name(choice->f32), product_name(choice->bf16), choice->because);
  printf("}\n");
}

static void print_text(const ProductChoice *choice) {
  printf("lockstep %s, plan format %d\n", LOCKSTEP_VERSION, PLAN_VERSION);
  if (!choice) return;
  printf("\nprocessor  %s\n", choice->processor);
  printf("fp32       %s\nbf16       %s\n", product_name(choice->f32), product_name(choice->bf16));
  if (choice->refusal) printf("not        %s: %s\n", product_name(choice->wanted), choice->refusal);
  printf("because    %s\n\nvariants of the matrix product, for LOCKSTEP_CPU:\n", choice->because);
  for (Product p = PRODUCT_REFERENCE; p <= PRODUCT_AMX_EMULATED; p++) {
    const char *missing = p == PRODUCT_AMX_BF16 ? "not on this processor: emulated when forced"
                                                : "not on this processor";
    const char *remark = product_runs_here(p) ? "" : missing;
    printf("  %s%*s%s\n", product_name(p), *remark ? 19 - (int)strlen(product_name(p)) : 0, "",
           remark);
  }
}

ExitCode verb_version(const Options *options) {
  const ProductChoice *choice = options->products ? product_choice() : NULL;
  if (choice && *choice->problem) return complain(EXIT_USER, "%s", choice->problem);
  if (options->json)
    print_json(choice);
  else
    print_text(choice);
  return EXIT_DONE;
}

/* page.c -- writes docs/kernels.md from the rows of kernels.def. */
#include "kernels/contract/contract.h"
#include "kernels/contract/fusions.h"

/* The text before the first kernel. */
typedef struct Family {
  const char *title, *text;
} Family;

/* Families and kernels in the order of kernels.def; a family has no kernel. */
typedef struct PageEntry {
  Family family;
  int32_t kernel; /* -1: none */
} PageEntry;

static const PageEntry entries[] = {
#define FAMILY(title, text) {{title, text}, -1},
#define KERNEL(name, ...)   {{NULL, NULL}, KERNEL_##name},
#include "kernels/kernels.def"
#undef KERNEL
};

static void print_shape(FILE *out, const KernelContract *contract, const KernelShape *shape) {
  static const char *const whole[] = {[SHAPE_SIZES] = "sizes",
                                      [SHAPE_SPAN] = "span of strides",
                                      [SHAPE_KEPT] = "kept sizes",
                                      [SHAPE_PIECES] = "pieces of all members"};
  fputc('[', out);
  if (shape->kind >= SHAPE_SIZES) fputs(whole[shape->kind], out);
  for (int32_t i = 0; i < shape->rows_count; i++)
    fprintf(out, "%s%s", i > 0 ? ", " : "", contract->dims[shape->rows[i]].name);
  for (int32_t i = 0; i < shape->inner_count; i++)
    fprintf(out, "%s%s", i > 0 ? ", " : " of ", contract->dims[shape->inner[i]].name);
  if (shape->kind == SHAPE_VIEW) fprintf(out, " every %s", contract->dims[shape->stride].name);
  if (shape->kind == SHAPE_DENSE && (shape->times != 1 || shape->rows_count == 0))
    fprintf(out, "%s%lld", shape->rows_count > 0 ? ", " : "", (long long)shape->times);
  fputc(']', out);
}

static void print_operand(FILE *out, const KernelContract *contract, int32_t i) {
  static const char *const access[] = {
      [KERNEL_READ] = "read", [KERNEL_WRITE] = "write", [KERNEL_UPDATE] = "update",
      [KERNEL_SUM] = "sum",   [KERNEL_KEEP] = "keep",   [KERNEL_SCRATCH] = "scratch"};
  static const char *const dtypes[] = {[DTYPE_F32] = "f32",
                                       [DTYPE_BF16] = "bf16",
                                       [DTYPE_I32] = "i32",
                                       [DTYPE_F64] = "f64",
                                       [DTYPE_I16] = "i16",
                                       [DTYPE_F16] = "f16",
                                       [DTYPE_U8] = "u8",
                                       [KERNEL_DTYPE_SHARED] = "float",
                                       [KERNEL_DTYPE_FLOAT] = "any float",
                                       [KERNEL_DTYPE_ANY] = "any",
                                       [KERNEL_DTYPE_MOMENT] = "f32, bf16 or u8"};
  const KernelOperand *operand = &contract->operands[i];
  fprintf(out, "| %s | %s | ", operand->name, access[operand->access]);
  if (operand->access == KERNEL_SCRATCH)
    fputs("| |", out);
  else {
    print_shape(out, contract, &operand->shape);
    fprintf(out, " | %s |", dtypes[operand->dtype]);
  }
  for (int32_t k = 0, count = 0; k < i; k++)
    if (operand->over >> k & 1u)
      fprintf(out, count++ > 0 ? " or %s" : " may be %s", contract->operands[k].name);
  if (operand->may_be_unread) fputs(" for backward", out);
  if (operand->may_be_absent) fputs(" may be left out", out);
  fputs(" |\n", out);
}

static void print_numbers(FILE *out, const char *title, const KernelNumber *numbers,
                          int32_t count) {
  if (count == 0) return;
  fprintf(out, "- %s:", title);
  for (int32_t i = 0; i < count; i++)
    fprintf(out, " %s%s", numbers[i].name, numbers[i].is_flag ? " (0 or 1)" : "");
  fputc('\n', out);
}

static void print_control(FILE *out, const KernelContract *contract) {
  static const char *const words[] = {
      [KERNEL_READ] = "read", [KERNEL_WRITE] = "written", [KERNEL_UPDATE] = "updated"};
  for (int32_t i = 0; i < contract->control_count; i++)
    fprintf(out, "%s %s (%s%s)%s", i == 0 ? "- control slots:" : ",",
            control_name(contract->controls[i].slot), words[contract->controls[i].access],
            contract->controls[i].may_be_absent ? "; in plans that have it" : "",
            i + 1 == contract->control_count ? "\n" : "");
}

static void print_kernel(FILE *out, const KernelContract *contract) {
  fprintf(out, "\n### %s\n\n%s.%s\n\n", contract->row->name, contract->row->about,
          contract->row->has_fast ? "" : " On processors the reference alone.");
  if (contract->operand_count > 0)
    fputs("| operand | use | shape | dtype | |\n|---|---|---|---|---|\n", out);
  for (int32_t i = 0; i < contract->operand_count; i++)
    print_operand(out, contract, i);
  fputc('\n', out);
  if (contract->is_broadcast)
    fputs("- dims: k, then k sizes, then k strides of the broadcast\n", out);
  if (contract->is_pieces) fputs("- dims: members, k, then k pairs (times, elements)\n", out);
  print_numbers(out, "dims", contract->dims, contract->dim_count);
  print_numbers(out, "attrs", contract->attrs, contract_attrs_in(contract, true));
  print_control(out, contract);
  for (int32_t i = 0; i < contract->backward_count; i++)
    fprintf(out, "%s%s%s", i == 0 ? "- gradients: " : ", ",
            contract_of(contract->backward[i])->row->name,
            i + 1 == contract->backward_count ? "\n" : "");
}

/* Escapes stars, which are Markdown. */
static void print_family(FILE *out, const Family *family) {
  fprintf(out, "\n## %s\n", family->title);
  if (*family->text == '\0') return;
  fputc('\n', out);
  for (const char *at = family->text; *at != '\0'; at++)
    fprintf(out, *at == '*' ? "\\%c" : "%c", *at);
  fputc('\n', out);
}

static void print_fusions(FILE *out) {
  int32_t count;
  fputs("\n## Fusions\n\n"
        "The rows of `kernels/fusions.def`: a plan may mark the second to be fused with the first "
        "where they have an operand in common. Memory then holds everything that both write; "
        "only a value that the second overwrites in place is never written.\n\n"
        "| first | its | second | its | in plans for |\n|---|---|---|---|---|\n",
        out);
  for (const KernelFusion *fusion = contract_fusions(&count); count > 0; fusion++, count--) {
    const KernelContract *first = contract_of(fusion->first), *second = contract_of(fusion->second);
    bool is_any = (fusion->targets >> KERNEL_TARGET_CPU & 1u) != 0;
    fprintf(out, "| %s | %s | %s | %s | %s |\n", first->row->name,
            first->operands[fusion->first_operand].name, second->row->name,
            second->operands[fusion->second_operand].name, is_any ? "all" : "GPUs");
  }
  fputs("\nA third record may ride along between the two if its operand is memory that the second "
        "reads:\n\n"
        "| rider | its | first | second | in plans for |\n|---|---|---|---|---|\n",
        out);
  for (const KernelRider *rider = contract_riders(&count); count > 0; rider++, count--) {
    const KernelContract *contract = contract_of(rider->rider);
    bool is_any = (rider->targets >> KERNEL_TARGET_CPU & 1u) != 0;
    fprintf(out, "| %s | %s | %s | %s | %s |\n", contract->row->name,
            contract->operands[rider->operand].name, contract_of(rider->first)->row->name,
            contract_of(rider->second)->row->name, is_any ? "all" : "GPUs");
  }
}

void contract_page(FILE *out) {
  fputs(
      "<!-- lockstep help --contract -->\n"
      "# Kernels\n\n"
      "What every kernel reads and writes, from `kernels/kernels.def`; `kernel_contract_test` runs "
      "each against its row. A record of a plan names a kernel and gives it these operands, dims "
      "and attrs, in this order.\n\n"
      "Uses: **read**; **write** every element, reading none before; **update** reads and writes; "
      "**sum** is written, or added to when the record accumulates; **keep** is written or left as "
      "it was; **scratch** holds nothing before or after. `[rows of heads, head every stride]` is "
      "a view: rows that are `stride` elements apart. The dtype *float* is the same for all "
      "operands of a call that have it: f32, bf16, f16 or f64.\n\n"
      "Ranks that share one tensor call a kernel for their part of it; results do not depend on "
      "who has which part. Tokens of a sample may come in two runs: local token i of seq is "
      "at position first + i while i < seq / 2, else at second + i - seq / 2.\n",
      out);
  for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
    if (entries[i].kernel >= 0)
      print_kernel(out, contract_of((KernelId)entries[i].kernel));
    else
      print_family(out, &entries[i].family);
  print_fusions(out);
}

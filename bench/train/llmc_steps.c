/* llmc_steps.c -- steps of llm.c's CPU program (train_gpt2.c), for bench/train/run.py --llmc.
 *
 * The program itself stays where the user has it: LLMC_SOURCE is its path. Arguments: layers width
 * heads vocab positions batch context, and a file for random weights in its format (read by
 * gpt2_build_from_checkpoint). Reads numbers of steps on stdin; prints a line of JSON for each. */
#define TESTING /* leaves its main out */
#include LLMC_SOURCE

enum { HEADER_INTS = 256, MAGIC = 20240326, VERSION = 3, ARGUMENTS = 9, WARM_UP = 1 };

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Small weights that differ: what they are does not change how long a step takes. */
static void write_weights(const GPT2Config *config, const char *path) {
  int header[HEADER_INTS] = {MAGIC,
                             VERSION,
                             config->max_seq_len,
                             config->vocab_size,
                             config->num_layers,
                             config->num_heads,
                             config->channels,
                             config->padded_vocab_size};
  size_t sizes[NUM_PARAMETER_TENSORS], count = 0;
  fill_in_parameter_sizes(sizes, *config);
  for (int i = 0; i < NUM_PARAMETER_TENSORS; i++)
    count += sizes[i];
  FILE *file = fopenCheck(path, "wb");
  fwrite(header, sizeof(int), HEADER_INTS, file);
  for (size_t i = 0; i < count; i++) {
    float weight = (float)((double)(i * 2654435761u % 1001) - 500) * 4e-5f;
    fwrite(&weight, sizeof weight, 1, file);
  }
  fcloseCheck(file);
}

static double step(GPT2 *model, int *inputs, int *targets, int batch, int context, int number) {
  for (int i = 0; i < batch * context; i++) {
    inputs[i] = rand() % model->config.vocab_size;
    targets[i] = rand() % model->config.vocab_size;
  }
  double start = seconds_now();
  gpt2_forward(model, inputs, targets, (size_t)batch, (size_t)context);
  gpt2_zero_grad(model);
  gpt2_backward(model);
  gpt2_update(model, 1e-4f, 0.9f, 0.95f, 1e-8f, 0.1f, number);
  return seconds_now() - start;
}

int main(int argc, char **argv) {
  if (argc != ARGUMENTS) return 2;
  int value[ARGUMENTS - 2];
  for (int i = 0; i < ARGUMENTS - 2; i++)
    value[i] = (int)strtol(argv[i + 1], NULL, 10);
  GPT2Config config = {.max_seq_len = value[4],
                       .vocab_size = value[3],
                       .padded_vocab_size = value[3],
                       .num_layers = value[0],
                       .num_heads = value[2],
                       .channels = value[1]};
  int batch = value[5], context = value[6], number = 0, count = 0;
  GPT2 model;
  write_weights(&config, argv[ARGUMENTS - 1]);
  gpt2_build_from_checkpoint(&model, argv[ARGUMENTS - 1]);
  int *tokens = mallocCheck(2 * (size_t)batch * (size_t)context * sizeof *tokens);
  int *targets = tokens + (size_t)batch * (size_t)context;
  while (number < WARM_UP)
    step(&model, tokens, targets, batch, context, ++number);
  printf("{\"version\": \"llm.c\"}\n");
  fflush(stdout);
  while (scanf("%d", &count) == 1) {
    printf("{\"seconds\": [");
    for (int i = 0; i < count; i++)
      printf(i > 0 ? ", %.6f" : "%.6f", step(&model, tokens, targets, batch, context, ++number));
    printf("]}\n");
    fflush(stdout);
  }
  return 0;
}

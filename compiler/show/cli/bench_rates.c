/* bench_rates.c -- lockstep bench kernels, copies, collectives, files DIRECTORY: rates that
 * predictions use, as a table, as JSON, and as rows of a calibration file. lockstep-rank measures,
 * with the code that training runs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "compiler/job/calibration.h"
#include "compiler/show/cli/bench.h"
#include "compiler/show/cli/command.h"
#include "kernels/product.h"

enum { RATES_MOST = 32 };

/* The answer of lockstep-rank. */
typedef struct RankAnswer {
  const char *device; /* NULL: a machine without GPUs */
  int32_t devices, count;
  const char *name[RATES_MOST];
  double per_s[RATES_MOST];
} RankAnswer;

static const struct {
  const char *name, *about;
} abouts[] = {
    {"to_device", "copies from host memory to a device"},
    {"to_host", "copies from a device to host memory"},
    {"both", "each way, while both run"},
    {"all", "each way, both ways of all GPUs at once: the slowest"},
    {"host_link", "the last of these, for predictions"},
    {"host_copy", "what one thread copies alone"},
    {"host_bandwidth", "what all cores read and write in memory"},
    {"host_update", "what updates of AdamW read and write there"},
    {"product_fp32", "FLOP: products of fp32"},
    {"product_bf16", "FLOP: products of bf16"},
    {"attention_fwd", "FLOP: attention, forward"},
    {"attention_bwd", "FLOP: its backward"},
    {"norm", "what norms and their backward read and write"},
    {"activation", "the same of GELU"},
    {"loss", "the same of the cross entropy of logits"},
    {"records", "records of a few numbers"},
    {"collectives", "what each rank sends in sums, a rank on each core"},
    {"messages", "messages between two ranks, one after the other"},
    {"disk_read", "reading a file of offload.path"},
    {"disk_write", "writing it"},
    {"disk_requests", "reads and writes one after the other, without their bytes"},
    {"both_read", "reading, while a second file is written"},
    {"both_write", "writing, while a second file is read"},
};

static const char *about(const char *name) {
  for (size_t i = 0; i < sizeof abouts / sizeof *abouts; i++)
    if (strcmp(abouts[i].name, name) == 0) return abouts[i].about;
  return "";
}

static void read_answer(Arena *arena, char *text, RankAnswer *answer) {
  *answer = (RankAnswer){0};
  for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    const size_t width = strcspn(line, " ");
    const char *name = arena_copy_n(arena, line, width);
    const char *value = line[width] == '\0' ? "" : line + width + 1;
    if (strcmp(name, "device") == 0)
      answer->device = arena_copy(arena, value);
    else if (strcmp(name, "devices") == 0)
      answer->devices = (int32_t)strtol(value, NULL, 10);
    else if (answer->count < RATES_MOST) {
      answer->name[answer->count] = name;
      answer->per_s[answer->count++] = strtod(value, NULL);
    }
  }
}

static void today(char day[16]) {
  time_t now = time(NULL);
  struct tm utc;
  *day = '\0';
  if (gmtime_r(&now, &utc) != NULL) (void)strftime(day, 16, "%Y-%m-%d", &utc);
}

static void print_text(const RankAnswer *answer) {
  printf("%s", product_choice()->processor);
  if (answer->device != NULL) printf("; %d x %s", answer->devices, answer->device);
  printf("\n\n");
  for (int32_t i = 0; i < answer->count; i++) {
    const double rate = answer->per_s[i];
    const double unit = rate < 1e5 ? 1e3 : rate < 1e8 ? 1e6 : 1e9;
    printf("%-18s  %7.2f %s/s  %s\n", answer->name[i], rate / unit,
           unit == 1e3   ? "k"
           : unit == 1e6 ? "M"
                         : "G",
           about(answer->name[i]));
  }
}

static void print_json(const RankAnswer *answer) {
  char day[16];
  today(day);
  printf("{\"version\": 1, \"processor\": \"%s\", \"measured\": \"%s\"",
         product_choice()->processor, day);
  if (answer->device != NULL)
    printf(", \"device\": \"%s\", \"devices\": %d", answer->device, answer->devices);
  for (int32_t i = 0; i < answer->count; i++)
    printf(",\n \"%s_per_s\": %.0f", answer->name[i], answer->per_s[i]);
  puts("}");
}

/* ---- the calibration file */

/* Reads the file that gets rows, and finds out whether it can be written, before measuring. */
static ExitCode open_file(Compile *c, const Options *options, Calibration *file) {
  const char *here = product_choice()->processor, *path = options->out;
  *file = (Calibration){.processor = here};
  const char *fresh = arena_printf(c->arena, "%s.new", path);
  if (access(path, F_OK) == 0 && !calibration_read(c, path, (Span){.file = path}, file))
    return report(c, options);
  if (strcmp(file->processor, here) != 0)
    return complain(EXIT_USER, "-o %s: its rates are of %s, and this is %s; name another file",
                    path, file->processor, here);
  FILE *out = fopen(fresh, "w");
  if (out == NULL) return cannot_write(path, errno);
  (void)fclose(out);
  (void)unlink(fresh);
  return EXIT_DONE;
}

/* Adds rows to those of other kinds; a rate that was measured again has one row. */
static ExitCode save(Arena *arena, const char *path, Calibration *file, const RankAnswer *answer) {
  char day[16];
  today(day);
  if (answer->device != NULL && file->device != NULL && strcmp(answer->device, file->device) != 0)
    return complain(EXIT_USER,
                    "-o %s: its rates are of %s, and this machine has %s; name another file", path,
                    file->device, answer->device);
  if (answer->device != NULL) file->device = answer->device;
  for (int32_t i = 0; i < CALIBRATION_RATES; i++)
    for (int32_t k = 0; k < answer->count; k++)
      if (strcmp(calibration_names[i], answer->name[k]) == 0) {
        file->per_s[i] = answer->per_s[k];
        file->day[i] = day;
      }
  if (calibration_write(arena, path, file)) return EXIT_DONE;
  return cannot_write(path, errno);
}

static ExitCode measure(Arena *arena, const Options *options, RankAnswer *answer) {
  char folder[4096];
  static Command command;
  const Words *words = &options->words;
  if (!own_folder(folder, sizeof folder)) return complain(EXIT_WORLD, "/proc is not mounted");
  const char *rank = arena_printf(arena, "%s/lockstep-rank", folder);
  command_run(&command, (const char *const[]){rank, "--bench", words->at[0],
                                              words->count > 1 ? words->at[1] : NULL, NULL});
  fputs(command.err, stderr); /* warnings, too */
  if (command.code == COMMAND_MISSING) return complain(EXIT_WORLD, "%s: cannot be started", rank);
  if (command.code == COMMAND_LATE) return complain(EXIT_WORLD, "it takes more than a minute");
  if (command.code != 0) return command.code <= EXIT_OURS ? (ExitCode)command.code : EXIT_OURS;
  read_answer(arena, command.out, answer);
  return EXIT_DONE;
}

ExitCode bench_rates(const Options *options) {
  const Words *words = &options->words;
  const bool is_files = strcmp(words->at[0], "files") == 0;
  const bool is_known = is_files || strcmp(words->at[0], "copies") == 0 ||
                        strcmp(words->at[0], "kernels") == 0 ||
                        strcmp(words->at[0], "collectives") == 0;
  if (!is_known || words->count != (is_files ? 2 : 1))
    return complain(EXIT_USER, "say what to measure: lockstep bench copies, kernels, collectives, "
                               "files DIRECTORY, or bench --kernels");
  Compile *c = open_compile();
  if (c == NULL) return EXIT_WORLD;
  Calibration file = {0};
  RankAnswer answer = {0};
  ExitCode code = options->out != NULL ? open_file(c, options, &file) : EXIT_DONE;
  if (code == EXIT_DONE) code = measure(c->arena, options, &answer);
  if (code == EXIT_DONE) (options->json ? print_json : print_text)(&answer);
  if (code == EXIT_DONE && options->out != NULL)
    code = save(c->arena, options->out, &file, &answer);
  compile_free(c);
  return code;
}

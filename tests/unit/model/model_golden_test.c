/* LINK: model -- broken models and their diagnostics: tests/golden/model, one file each.
 *
 * A file is a model, or a preset. Its first line may say what the job says: `-- job: inputs = 8,
 * context = 2048`; after `-- >>> expected` comes the output, line by line as comments. With the
 * argument `update` the expected part is written anew; its diff is read before it is committed. */
#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include "compiler/graph/model/model.h"
#include "compiler/graph/ops/op.h"
#include "tests/unit/check.h"

#define MARK "-- >>> expected\n"
enum { FILES_MAX = 200 };

static char *read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) exit(2);
  char *text = calloc(1, 1 << 16);
  size_t size_bytes = fread(text, 1, (1 << 16) - 1, file);
  text[size_bytes] = '\0';
  fclose(file);
  return text;
}

/* One `name = value` of the job line; `model` and `context` are the job's own. */
static void set(Compile *c, Job *job, int64_t *context, char *pair) {
  char name[64], value[64];
  if (sscanf(pair, " %63[a-z_] = %63[^, \n]", name, value) != 2) return;
  Origin origin = {ORIGIN_JOB, {.file = "job.lua", .line = 2, .column = 11, .length = 1}, NULL};
  bool is_number = strspn(value, "0123456789.e") == strlen(value);
  ModelSize size = {arena_copy(c->arena, name), is_number ? SIZE_NUMBER : SIZE_TEXT,
                    is_number ? atof(value) : 0, arena_copy(c->arena, value), origin};
  if (strcmp(name, "model") == 0) {
    job->model.head_text = size.text;
  } else if (strcmp(name, "context") == 0) {
    *context = (int64_t)size.number;
    job->set[FIELD_train_context] = true;
    job->origin[FIELD_train_context] = origin;
  } else {
    VEC_PUSH(c->arena, &job->sizes, size);
  }
}

/* One region a paragraph: what it takes, its nodes, what it gives. */
static void print_graph(FILE *out, Graph *g) {
  fprintf(out, "%lld parameters\n", (long long)model_parameters(g));
  for (int32_t r = 0; r < g->regions.count; r++) {
    const Region *region = &g->regions.at[r];
    fprintf(out, "%s x %lld:", region->name, (long long)region->repeat);
    if (region->input != NO_ID) fprintf(out, " %s", value_dims_text(g, region->input));
    fprintf(out, "\n");
    for (int32_t i = 0; i < region->forward.count; i++) {
      const Node *node = graph_node(g, region->forward.at[i]);
      const Value *y = graph_value(g, node->outputs[0]);
      bool is_output = node->outputs[0] == region->output;
      fprintf(out, "  %s %s %s%s\n", is_output ? "=" : " ", op_def(node->op)->name, node->path,
              y->kind == VALUE_LOSS
                  ? ""
                  : arena_printf(g->compile->arena, " %s", value_dims_text(g, node->outputs[0])));
    }
  }
}

/* The diagnostics of the model of this file, else its graph. The caller frees the text.
 */
static char *run_model(const char *name, char *text) {
  char *output = NULL;
  size_t size_bytes = 0;
  FILE *out = open_memstream(&output, &size_bytes);
  Compile *c = compile_new("../../../specs");
  Job *job = ARENA_NEW(c->arena, Job);
  int64_t context = 64;
  job->directory = ".";
  job->model.head_text = arena_printf(c->arena, "./%s", name);
  job->model.head_origin.span = (Span){.file = "job.lua", .line = 1, .column = 9, .length = 1};
  if (strncmp(text, "-- job:", 7) == 0) {
    char *line = arena_copy_n(c->arena, text + 7, strcspn(text + 7, "\n"));
    for (char *pair = line; pair != NULL; pair = strchr(pair, ',') ? strchr(pair, ',') + 1 : NULL)
      set(c, job, &context, pair);
  }
  Model *model = model_open(c, job);
  Graph *g = model != NULL ? model_trace(c, model, 2, context, true) : NULL;
  if (g != NULL && model_trace(c, model, 2, context, false) != NULL) print_graph(out, g);
  diags_print(&c->diags, out, false);
  model_close(model);
  compile_free(c);
  fclose(out);
  return output;
}

static void print_expected(FILE *file, const char *output) {
  for (const char *line = output; *line != '\0';) {
    int length = (int)strcspn(line, "\n");
    fprintf(file, length > 0 ? "-- %.*s\n" : "--\n", length, line);
    line += length + (line[length] == '\n');
  }
}

static void run_file(const char *name, bool update) {
  char *text = read_file(name), *wanted = NULL, *output = run_model(name, text);
  size_t wanted_bytes = 0;
  char *mark = strstr(text, MARK);
  FILE *out = open_memstream(&wanted, &wanted_bytes);
  print_expected(out, output);
  fclose(out);
  if (update) {
    FILE *file = fopen(name, "wb");
    fprintf(file, "%.*s%s%s", mark != NULL ? (int)(mark - text) : (int)strlen(text), text, MARK,
            wanted);
    fclose(file);
  } else {
    check_test_name = name;
    CHECK_TEXT(wanted, mark != NULL ? mark + strlen(MARK) : "no expected part");
  }
  free(wanted);
  free(output);
  free(text);
}

static int compare_names(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

int main(int argc, char **argv) {
  char *names[FILES_MAX];
  size_t count = 0;
  if (chdir(SOURCE_FOLDER "/tests/golden/model") != 0) return 2;
  DIR *directory = opendir(".");
  for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;)
    if (strstr(entry->d_name, ".lua") != NULL && count < FILES_MAX)
      names[count++] = strdup(entry->d_name);
  if (directory != NULL) closedir(directory);
  qsort(names, count, sizeof *names, compare_names);
  for (size_t i = 0; i < count; i++) {
    run_file(names[i], argc > 1 && strcmp(argv[1], "update") == 0);
    free(names[i]);
  }
  check_test_name = "every broken model is there";
  CHECK(count >= 40);
  CHECK_DONE();
}

/* sample.c -- lockstep sample WHAT: continues from prompts. */
#include "compiler/show/cli/sample.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/json/json.h"
#include "runtime/plan/plan_job.h"

/* A drawn token takes less than 32 bytes of JSON, one of a prompt less than 8. */
enum { TOKENS_USUAL = 64, DRAWN_BYTES_MAX = 1 << 30 };

static const int64_t tokens_most = 1 << 29, samples_most = 1 << 20, number_most = (int64_t)1 << 40;

typedef struct Prompt {
  const char *text; /* NULL: given in ids */
  CountList ids;
} Prompt;

typedef struct SampleVerb {
  const Options *options;
  Used used;
  Language language;
  VEC(Prompt) prompts;
  DrawOptions draw;
  int64_t tokens, times, seed;
  int64_t longest; /* prompt */
} SampleVerb;

/* ---- numbers of the command line */

static bool take_count(const char *name, const char *text, int64_t least, int64_t most,
                       int64_t *count) {
  char *end = NULL;
  if (text == NULL) return true;
  errno = 0;
  *count = strtoll(text, &end, 10);
  if (errno == 0 && end != text && *end == '\0' && *count >= least && *count <= most) return true;
  complain(EXIT_USER, "%s wants a whole number from %lld to %lld, not '%.40s'", name,
           (long long)least, (long long)most, text);
  return false;
}

static bool take_number(const char *name, const char *text, double least, double most,
                        const char *range, double *number) {
  char *end = NULL;
  if (text == NULL) return true;
  *number = strtod(text, &end);
  if (end != text && *end == '\0' && *number >= least && *number <= most) return true;
  complain(EXIT_USER, "%s wants %s, not '%.40s'", name, range, text);
  return false;
}

static bool take_options(SampleVerb *s) {
  const Options *o = s->options;
  s->draw = (DrawOptions){.temperature = 1, .top_p = 1};
  s->tokens = TOKENS_USUAL;
  s->times = s->seed = 1;
  if (o->stop != NULL && *o->stop == '\0') {
    complain(EXIT_USER, "--stop wants a text that is not empty");
    return false;
  }
  return take_count("--tokens", o->token_count, 1, tokens_most, &s->tokens) &&
         take_count("--samples", o->sample_count, 1, samples_most, &s->times) &&
         take_count("--seed", o->draw_seed, 0, number_most, &s->seed) &&
         take_count("--top-k", o->top_k, 1, number_most, &s->draw.top_k) &&
         take_number("--temperature", o->temperature, 0, 1e6, "a number from 0 on",
                     &s->draw.temperature) &&
         take_number("--top-p", o->top_p, 1e-9, 1, "a share above 0, up to 1", &s->draw.top_p);
}

/* ---- prompts */

static ExitCode keep_prompt(SampleVerb *s, Prompt prompt) {
  if (prompt.ids.count == 0)
    return complain(EXIT_USER, "a prompt has no token: there is nothing to go on from");
  if (prompt.ids.count > s->longest) s->longest = prompt.ids.count;
  VEC_PUSH(s->used.c->arena, &s->prompts, prompt);
  return EXIT_DONE;
}

static ExitCode add_text(SampleVerb *s, const char *text) {
  const DocumentMessage turn[] = {{"user", text}, {"assistant", NULL}};
  Prompt prompt = {.text = text};
  ExitCode code = s->language.chat.user == NULL
                      ? language_encode(s->used.c, &s->language, text, &prompt.ids)
                      : language_encode_chat(s->used.c, &s->language, turn, 2, &prompt.ids);
  return code == EXIT_DONE ? keep_prompt(s, prompt) : code;
}

static ExitCode add_ids(SampleVerb *s, const char *text) {
  Prompt prompt = {0};
  for (const char *at = text; *at != '\0';) {
    char *end = NULL;
    long long id = strtoll(at, &end, 10);
    if (end == at || id < 0 || id > INT32_MAX || (*end != ',' && *end != '\0'))
      return complain(EXIT_USER, "--ids wants token ids with commas, as 5,9, not '%.60s'", text);
    VEC_PUSH(s->used.c->arena, &prompt.ids, id);
    at = *end == ',' ? end + 1 : end;
  }
  return keep_prompt(s, prompt);
}

static bool are_ids(const json_t *list) {
  const json_t *item;
  size_t i;
  json_array_foreach((json_t *)list, i,
                     item) if (!json_is_integer(item) || json_integer_value(item) < 0) return false;
  return json_array_size(list) > 0;
}

/* {"role", "content"} each; the assistant answers. False: some is no such message. */
static bool read_messages(SampleVerb *s, const json_t *list, DocumentMessage *messages) {
  const json_t *item;
  size_t i;
  json_array_foreach((json_t *)list, i, item) {
    const char *role = json_text(item, "role"), *content = json_text(item, "content");
    if (role == NULL || content == NULL || json_object_size(item) != 2) return false;
    messages[i] = (DocumentMessage){arena_copy(s->used.c->arena, role),
                                    arena_copy(s->used.c->arena, content)};
  }
  return json_array_size(list) > 0;
}

static ExitCode add_messages(SampleVerb *s, const json_t *list, int64_t line) {
  const size_t count = json_array_size(list);
  DocumentMessage *messages = ARENA_ARRAY(s->used.c->arena, DocumentMessage, count + 1);
  const char *path = s->options->prompt_file;
  Prompt prompt = {0};
  if (s->language.chat.user == NULL)
    return complain(EXIT_USER, "%s, line %lld: \"messages\" wants a chat page: --chat chatml", path,
                    (long long)line);
  if (!read_messages(s, list, messages))
    return complain(EXIT_USER,
                    "%s, line %lld: expected \"messages\": [{\"role\": TEXT, \"content\": TEXT}]",
                    path, (long long)line);
  messages[count] = (DocumentMessage){"assistant", NULL};
  prompt.text = messages[count - 1].content;
  const ExitCode code =
      language_encode_chat(s->used.c, &s->language, messages, (int32_t)count + 1, &prompt.ids);
  return code == EXIT_DONE ? keep_prompt(s, prompt) : code;
}

static ExitCode add_line(SampleVerb *s, const char *line, size_t length, int64_t number) {
  JsonFault fault;
  json_t *root = json_read(line, length, &fault);
  const char *text = json_text(root, "prompt"), *path = s->options->prompt_file;
  const json_t *ids = json_object_get(root, "ids"), *item;
  const bool is_alone = json_object_size(root) == 1;
  ExitCode code;
  size_t i;
  Prompt prompt = {0};
  if (is_alone && text != NULL) {
    code = add_text(s, arena_copy(s->used.c->arena, text));
  } else if (is_alone && are_ids(ids)) {
    json_array_foreach((json_t *)ids, i, item)
        VEC_PUSH(s->used.c->arena, &prompt.ids, json_integer_value(item));
    code = keep_prompt(s, prompt);
  } else if (is_alone && json_is_array(json_object_get(root, "messages"))) {
    code = add_messages(s, json_object_get(root, "messages"), number);
  } else {
    code = complain(EXIT_USER, "%s, line %lld: %s", path, (long long)number,
                    root == NULL ? fault.why
                                 : "expected {\"prompt\": TEXT}, {\"ids\": [5, 9]} or "
                                   "{\"messages\": [...]}, and no other key");
  }
  json_decref(root);
  return code;
}

static ExitCode add_file(SampleVerb *s, const char *path) {
  FILE *file = fopen(path, "r");
  char *line = NULL;
  size_t room = 0;
  ssize_t length;
  ExitCode code = EXIT_DONE;
  if (file == NULL) return complain(EXIT_USER, "%s: %s", path, strerror(errno));
  for (int64_t number = 1; code == EXIT_DONE && (length = getline(&line, &room, file)) > 0;
       number++)
    if (line[strspn(line, " \t\r\n")] != '\0') code = add_line(s, line, (size_t)length, number);
  if (code == EXIT_DONE && ferror(file))
    code = complain(EXIT_WORLD, "%s: cannot be read: %s", path, strerror(errno));
  free(line);
  (void)fclose(file);
  return code;
}

static ExitCode read_prompts(SampleVerb *s) {
  const Options *o = s->options;
  ExitCode code = EXIT_DONE;
  for (int32_t i = 0; code == EXIT_DONE && i < o->prompts.count; i++)
    code = add_text(s, o->prompts.at[i]);
  for (int32_t i = 0; code == EXIT_DONE && i < o->prompt_ids.count; i++)
    code = add_ids(s, o->prompt_ids.at[i]);
  if (code == EXIT_DONE && o->prompt_file != NULL) code = add_file(s, o->prompt_file);
  if (code == EXIT_DONE && s->prompts.count == 0 && o->prompt_file != NULL)
    code =
        complain(EXIT_USER, "%s has no prompt: a line is {\"prompt\": TEXT} or {\"ids\": [5, 9]}",
                 o->prompt_file);
  else if (code == EXIT_DONE && s->prompts.count == 0)
    code = complain(EXIT_USER, "sample wants a prompt: --prompt TEXT, --ids 5,9 or --prompts "
                               "FILE.jsonl");
  return code;
}

/* ---- the plan, and its ranks */

/* Prompts have ids of the model: a tokenizer can have more. */
static ExitCode check_ids(const SampleVerb *s) {
  const uint32_t vocab = job_vocab(&s->used.compiled.plan);
  for (int32_t i = 0; i < s->prompts.count; i++)
    for (int32_t k = 0; k < s->prompts.at[i].ids.count; k++)
      if (s->prompts.at[i].ids.at[k] >= vocab)
        return complain(EXIT_USER, "prompt %d has the token %lld, and the model's are below %u%s",
                        i + 1, (long long)s->prompts.at[i].ids.at[k], vocab,
                        s->language.tokenizer != NULL && s->prompts.at[i].text != NULL
                            ? ": its folder has the tokenizer.json of another one"
                            : "");
  return EXIT_DONE;
}

/* Prompts and results are in a file each, which is read within the limits of runtime/json: of a
 * drawn token two values, of a text up to ten more. */
static ExitCode check_size(const SampleVerb *s) {
  enum { VALUES_OF_TOKEN = 2, VALUES_OF_TEXT = 10 };
  const double texts = (double)s->prompts.count * (double)s->times;
  double asked = 0;
  for (int32_t i = 0; i < s->prompts.count; i++)
    asked += (double)s->times * ((double)s->prompts.at[i].ids.count + 1);
  const double drawn = texts * (VALUES_OF_TOKEN * (double)s->tokens + VALUES_OF_TEXT);
  return drawn <= JSON_VALUES_MAX - VALUES_OF_TEXT && 2 * asked <= JSON_VALUES_MAX
             ? EXIT_DONE
             : complain(EXIT_USER,
                        "%d prompt%s, %lld time%s with up to %lld tokens more, are more than %d "
                        "tokens: draw them in several runs",
                        s->prompts.count, plural(s->prompts.count), (long long)s->times,
                        plural(s->times), (long long)s->tokens, JSON_VALUES_MAX / 2);
}

static ExitCode compile_sample(SampleVerb *s) {
  TextList *settings = &s->used.settings;
  VEC_PUSH(s->used.c->arena, settings,
           arena_printf(s->used.c->arena, "train.seed=%lld", (long long)s->seed));
  s->draw.prompt_tokens = s->longest;
  s->draw.tokens = s->tokens;
  s->draw.sequences = s->prompts.count * s->times;
  const ExitCode code = use_compile(&s->used, s->options, USE_SAMPLE, s->draw);
  return code == EXIT_DONE ? check_ids(s) : code;
}

static json_t *counts_json(const CountList *counts) {
  json_t *list = json_array();
  for (int32_t i = 0; i < counts->count; i++)
    (void)json_array_append_new(list, json_integer(counts->at[i]));
  return list;
}

static ExitCode write_prompts(const SampleVerb *s) {
  const char *path = arena_printf(s->used.c->arena, "%s/prompts.json", s->used.folder);
  json_t *list = json_array();
  for (int32_t i = 0; i < s->prompts.count; i++)
    for (int64_t k = 0; k < s->times; k++)
      (void)json_array_append_new(list, counts_json(&s->prompts.at[i].ids));
  json_t *all = json_pack("{s:o, s:I, s:o}", "sequences", list, "tokens", (json_int_t)s->tokens,
                          "ends", counts_json(&s->language.ends));
  bool written = all != NULL && json_dump_file(all, path, JSON_COMPACT) == 0;
  json_decref(all);
  return written ? EXIT_DONE : complain(EXIT_WORLD, "%s: %s", path, strerror(errno));
}

/* An id that is a letter: what follows it is inside a text. */
static int64_t letter_of(const SampleVerb *s, int64_t ids) {
  for (int64_t id = 0; id < ids; id++) {
    const char *text = language_decode(s->used.c, &s->language, &id, 1);
    if (text != NULL && isalpha((unsigned char)*text)) return id;
  }
  return 0;
}

/* The bytes of all ids, by which ranks find --stop: the form of the file is in
 * runtime/rank/rank_stop.h. */
static bool write_pieces(const SampleVerb *s, FILE *out) {
  const char *stop = s->options->stop;
  const uint32_t head[] = {(uint32_t)strlen(stop), job_vocab(&s->used.compiled.plan)};
  const uint64_t ids_count = head[1], count = 2 * ids_count;
  const int64_t letter = letter_of(s, (int64_t)ids_count);
  uint64_t *end = calloc(count + 1, sizeof *end);
  const char **piece = calloc(count + 1, sizeof *piece);
  bool good = end != NULL && piece != NULL;
  for (uint64_t i = 0; good && i < count; i++) {
    const int64_t ids[] = {letter, (int64_t)(i % ids_count)};
    const bool begins = i >= ids_count;
    const char *before = begins ? "" : language_decode(s->used.c, &s->language, ids, 1);
    const char *text = language_decode(s->used.c, &s->language, ids + begins, begins ? 1 : 2);
    const bool is_known = before != NULL && text != NULL && strlen(text) >= strlen(before);
    piece[i] = is_known ? text + strlen(before) : "";
    end[i + 1] = end[i] + strlen(piece[i]);
  }
  good = good && fwrite(head, sizeof head, 1, out) == 1 &&
         fwrite(end, sizeof *end, count + 1, out) == count + 1 &&
         fwrite(stop, 1, head[0], out) == head[0];
  for (uint64_t i = 0; good && i < count; i++)
    good = fputs(piece[i], out) >= 0;
  free(end);
  free(piece);
  return good;
}

static ExitCode write_stop(const SampleVerb *s) {
  if (s->options->stop == NULL) return EXIT_DONE;
  const char *path = arena_printf(s->used.c->arena, "%s/stop", s->used.folder);
  FILE *out = fopen(path, "wb");
  bool good = out != NULL && write_pieces(s, out);
  if (out != NULL && fclose(out) != 0) good = false;
  return good ? EXIT_DONE : complain(EXIT_WORLD, "%s: cannot be written", path);
}

/* ---- what was drawn */

typedef struct Drawn {
  const char *prompt, *text; /* NULL: ids are no text */
  CountList ids;
  VEC(double) logprobs;
} Drawn;

/* The bytes that the id adds to the text of the earlier ones; a tokenizer may treat the first word
 * of a text in another way. */
static size_t bytes_added(const SampleVerb *s, const int64_t *ids, int32_t i) {
  const char *before = i == 0 ? "" : language_decode(s->used.c, &s->language, ids + i - 1, 1);
  const char *both = language_decode(s->used.c, &s->language, ids + i - (i > 0), i > 0 ? 2 : 1);
  return both == NULL || before == NULL ? 0 : strlen(both) - strlen(before);
}

/* The text ends before --stop, and the ids with the one that completes it. */
static void cut_at_stop(const SampleVerb *s, Drawn *drawn) {
  const char *stop = s->options->stop;
  const char *found = stop == NULL || drawn->text == NULL ? NULL : strstr(drawn->text, stop);
  int32_t count = 0;
  if (found == NULL) return;
  const size_t end = (size_t)(found - drawn->text) + strlen(stop);
  for (size_t bytes = 0; count < drawn->ids.count && bytes < end; count++)
    bytes += bytes_added(s, drawn->ids.at, count);
  drawn->text = arena_copy_n(s->used.c->arena, drawn->text, (size_t)(found - drawn->text));
  drawn->ids.count = drawn->logprobs.count = count;
}

static Drawn drawn_of(const SampleVerb *s, const json_t *sequence, int32_t prompt) {
  Arena *arena = s->used.c->arena;
  Drawn drawn = {.prompt = s->prompts.at[prompt].text};
  const json_t *item;
  size_t i;
  json_array_foreach(json_object_get(sequence, "ids"), i, item)
      VEC_PUSH(arena, &drawn.ids, json_integer_value(item));
  json_array_foreach(json_object_get(sequence, "logprobs"), i, item)
      VEC_PUSH(arena, &drawn.logprobs, json_number_value(item));
  drawn.text = language_decode(s->used.c, &s->language, drawn.ids.at, drawn.ids.count);
  cut_at_stop(s, &drawn);
  return drawn;
}

static void print_text_or_null(const char *text) {
  if (text == NULL)
    fputs("null", stdout);
  else
    print_json_text(text, stdout);
}

static void print_json_sample(const Drawn *drawn, size_t number, bool is_first) {
  printf("%s{\"sequence\": %zu, \"prompt\": ", is_first ? "" : ",\n  ", number);
  print_text_or_null(drawn->prompt);
  fputs(", \"ids\": [", stdout);
  for (int32_t i = 0; i < drawn->ids.count; i++)
    printf("%s%lld", i > 0 ? ", " : "", (long long)drawn->ids.at[i]);
  fputs("], \"text\": ", stdout);
  print_text_or_null(drawn->text);
  fputs(", \"logprobs\": [", stdout);
  for (int32_t i = 0; i < drawn->logprobs.count; i++)
    printf("%s%.9g", i > 0 ? ", " : "", drawn->logprobs.at[i]);
  fputs("]}", stdout);
}

/* A prompt in text is printed before what follows it; of a chat the answer alone. */
static void print_sample(const Drawn *drawn, bool is_chat) {
  if (drawn->text == NULL) {
    for (int32_t i = 0; i < drawn->ids.count; i++)
      printf("%s%lld", i > 0 ? "," : "", (long long)drawn->ids.at[i]);
  } else {
    if (drawn->prompt != NULL && !is_chat) print_plain(drawn->prompt, stdout);
    print_plain(drawn->text, stdout);
  }
  putchar('\n');
}

static double rate_of(const json_t *root, const char *tokens, const char *seconds) {
  const double s = json_number_value(json_object_get(root, seconds));
  return s > 0 ? (double)json_integer_value(json_object_get(root, tokens)) / s : 0;
}

/* The bytes of the cache on the rank that has most. */
static uint64_t cache_bytes(const Plan *plan) {
  uint64_t most = 0;
  for (uint32_t c = 0; c < plan->classes_count; c++) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < plan->classes[c].buffers_count; i++) {
      const PlanBuffer *buffer = &plan->buffers[plan->classes[c].buffers_first + i];
      if (buffer->kind == BUFFER_CACHE) bytes += buffer->size_bytes;
    }
    if (bytes > most) most = bytes;
  }
  return most;
}

/* A run that was stopped has texts that have not ended: they are left out. */
static ExitCode print_drawn(const SampleVerb *s, ExitCode ended) {
  int failure = 0;
  JsonFault fault;
  const char *path = arena_printf(s->used.c->arena, "%s/drawn.json", s->used.folder);
  json_t *root = json_read_file(path, DRAWN_BYTES_MAX, &failure, &fault);
  const json_t *sequences = json_object_get(root, "sequences"), *sequence;
  size_t i, printed = 0;
  if (root == NULL)
    return complain(EXIT_WORLD, "%s: %s", path, failure != 0 ? strerror(failure) : fault.why);
  if (s->options->json) fputs("{\"version\": 1, \"samples\": [", stdout);
  json_array_foreach((json_t *)sequences, i, sequence) {
    if (ended == EXIT_STOPPED && !json_is_true(json_object_get(sequence, "has_ended"))) continue;
    const Drawn drawn = drawn_of(s, sequence, (int32_t)((int64_t)i / s->times));
    if (s->options->json)
      print_json_sample(&drawn, i, printed == 0);
    else
      print_sample(&drawn, s->language.chat.user != NULL);
    printed++;
  }
  if (s->options->json)
    printf("],\n \"batch\": %lld, \"cache_bytes\": %llu, \"prefill_tokens_per_s\": %.6g, "
           "\"decode_tokens\": %lld, \"decode_tokens_per_s\": %.6g}\n",
           (long long)s->used.compiled.job->sample.batch,
           (unsigned long long)cache_bytes(&s->used.compiled.plan),
           rate_of(root, "prefill_tokens", "prefill_s"),
           (long long)json_whole(root, "decode_tokens", 0),
           rate_of(root, "decode_tokens", "decode_s"));
  json_decref(root);
  if (ended == EXIT_STOPPED)
    complain(ended, "stopped as asked: %zu of %lld texts have ended", printed,
             (long long)s->draw.sequences);
  return finish_output(ended);
}

ExitCode verb_sample(const Options *options) {
  SampleVerb *s = calloc(1, sizeof *s);
  if (s == NULL) return complain(EXIT_WORLD, "not enough memory");
  s->options = options;
  if (!take_options(s)) {
    free(s);
    return EXIT_USER;
  }
  ExitCode code = use_open(&s->used, options, USE_SAMPLE);
  if (code == EXIT_DONE) code = language_open(&s->language, &s->used);
  if (code == EXIT_DONE) code = language_open_chat(s->used.c, &s->language, options->chat);
  if (code == EXIT_DONE && options->stop != NULL && !language_is_known(&s->language))
    code = complain(EXIT_USER,
                    "--stop wants a text, and %s has no tokenizer.json that makes text of ids",
                    s->language.model != NULL ? s->language.model : "the run");
  if (code == EXIT_DONE) code = read_prompts(s);
  if (code == EXIT_DONE) code = check_size(s);
  if (code == EXIT_DONE) code = compile_sample(s);
  if (code == EXIT_DONE) code = write_prompts(s);
  if (code == EXIT_DONE) code = write_stop(s);
  if (code == EXIT_DONE) code = use_run(&s->used, options);
  if (code == EXIT_DONE || code == EXIT_STOPPED) code = print_drawn(s, code);
  language_close(&s->language);
  use_close(&s->used);
  free(s);
  return code;
}

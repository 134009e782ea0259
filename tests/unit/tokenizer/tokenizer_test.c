/* Tokenizers of the five kinds: ids of hostile texts equal those that Hugging Face's gave
 * (tests/tokenizers), and decode back; files with other steps are refused with their place.
 * LINK: tokenizer */
#include <stdlib.h>

#include "runtime/json/json.h"
#include "runtime/tokenizer/tokenizer.h"
#include "tests/unit/check.h"

static char why[TOKENIZER_WHY_BYTES];

static char *read_all(const char *path, size_t *bytes) {
  FILE *file = fopen(path, "rb");
  if (!file) abort();
  (void)fseek(file, 0, SEEK_END);
  *bytes = (size_t)ftell(file);
  rewind(file);
  char *text = malloc(*bytes + 1);
  if (!text || fread(text, 1, *bytes, file) != *bytes) abort();
  text[*bytes] = 0;
  fclose(file);
  return text;
}

static Tokenizer *open_kind(const char *kind) {
  char path[256];
  (void)snprintf(path, sizeof path, SOURCE_FOLDER "/tests/tokenizers/%s", kind);
  Tokenizer *t = tokenizer_open(path, why);
  if (!t) printf("%s\n", why);
  CHECK(t != NULL);
  return t;
}

static bool same_ids(const TokenIds *ids, json_t *wanted) {
  bool same = ids->count == (int64_t)json_array_size(wanted);
  for (int64_t i = 0; same && i < ids->count; i++)
    same = ids->at[i] == json_integer_value(json_array_get(wanted, (size_t)i));
  return same;
}

/* One recorded line. `decodes`: no step of this kind loses anything. */
static void check_line(Encoder *e, const Tokenizer *t, json_t *line, const char *kind,
                       bool decodes) {
  const char *text = json_text(line, "text");
  json_t *parse = json_object_get(line, "parse"), *plain = json_object_get(line, "ids");
  TokenIds ids = {0};
  CHECK(tokenizer_encode(e, text, strlen(text), SPECIAL_TEXT, &ids, why));
  if (!same_ids(&ids, plain)) printf("%s: %s\n", kind, text);
  CHECK(same_ids(&ids, plain));
  size_t bytes;
  char *back = tokenizer_decode(t, ids.at, ids.count, false, &bytes);
  CHECK(back != NULL && (!decodes || strcmp(back, text) == 0));
  if (back && decodes && strcmp(back, text) != 0) printf("%s: '%s' is '%s'\n", kind, text, back);
  free(back);
  ids.count = 0;
  CHECK(tokenizer_encode(e, text, strlen(text), SPECIAL_PARSE, &ids, why));
  if (!same_ids(&ids, parse ? parse : plain)) printf("%s parse: %s\n", kind, text);
  CHECK(same_ids(&ids, parse ? parse : plain));
  tokenizer_free_ids(&ids);
}

static void check_kind(const char *kind, bool decodes) {
  char path[256];
  JsonFault fault;
  size_t bytes;
  int64_t lines = 0;
  Tokenizer *t = open_kind(kind);
  Encoder *e = encoder_new(t);
  (void)snprintf(path, sizeof path, SOURCE_FOLDER "/tests/tokenizers/%s.jsonl", kind);
  char *text = read_all(path, &bytes), *at = text;
  for (char *end; (end = strchr(at, '\n')) != NULL; at = end + 1, lines++) {
    json_t *line = json_read(at, (size_t)(end - at), &fault);
    CHECK(line != NULL);
    if (line) check_line(e, t, line, kind, decodes);
    json_decref(line);
  }
  CHECK(lines > 450);
  free(text);
  encoder_free(e);
  tokenizer_free(t);
}

static void test_long(void) {
  TEST("a word of 200,000 letters, and as many blanks, take no quadratic time") {
    const char *kinds[] = {"gpt2", "llama2"};
    static char text[200000];
    for (int k = 0; k < 4; k++) {
      TokenIds ids = {0};
      Tokenizer *t = open_kind(kinds[k / 2]);
      Encoder *e = encoder_new(t);
      for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)(k % 2 == 0 ? "theandof"[i * i % 8] : 32);
      CHECK(tokenizer_encode(e, text, sizeof text, SPECIAL_TEXT, &ids, why));
      CHECK(ids.count > 1000);
      tokenizer_free_ids(&ids);
      encoder_free(e);
      tokenizer_free(t);
    }
  }
}

static void test_special(void) {
  TEST("special tokens in a text are counted as letters, or refused with their place") {
    TokenIds ids = {0};
    Tokenizer *t = open_kind("llama3");
    Encoder *e = encoder_new(t);
    const char text[] = "a<|eot_id|>b", broken[] = "ab\xff";
    CHECK(tokenizer_encode(e, text, strlen(text), SPECIAL_TEXT, &ids, why));
    CHECK_INT(encoder_counts(e).specials, 1);
    CHECK(!tokenizer_encode(e, text, strlen(text), SPECIAL_REFUSE, &ids, why));
    CHECK(strstr(why, "\"<|eot_id|>\" is in the text, at byte 1"));
    CHECK(!tokenizer_encode(e, broken, 3, SPECIAL_TEXT, &ids, why));
    CHECK_TEXT(why, "no UTF-8 at byte 2");
    const char later[] = "\xf4\x8f\xbf\xbf"; /* U+10FFFF is assigned never */
    CHECK(tokenizer_encode(e, later, 4, SPECIAL_TEXT, &ids, why));
    CHECK_INT(encoder_counts(e).unassigned, 1);
    int64_t eot = tokenizer_id(t, "<|eot_id|>");
    CHECK(eot > 0 && tokenizer_id(t, "<|none|>") == -1);
    TokenizerEnds ends = tokenizer_ends(t);
    CHECK(ends.adds_bos && ends.bos == tokenizer_id(t, "<|begin_of_text|>") && !ends.adds_eos);
    uint32_t id = (uint32_t)eot;
    size_t bytes;
    char *back = tokenizer_decode(t, &id, 1, true, &bytes);
    CHECK(back && bytes == 0);
    free(back);
    id = tokenizer_vocab(t);
    CHECK(tokenizer_decode(t, &id, 1, false, &bytes) == NULL);
    tokenizer_free_ids(&ids);
    encoder_free(e);
    tokenizer_free(t);
  }
}

/* The file of a kind with one text in place of another is refused for this reason. */
static void refused(const char *kind, const char *old, const char *new, const char *wanted) {
  char path[256];
  size_t bytes;
  (void)snprintf(path, sizeof path, SOURCE_FOLDER "/tests/tokenizers/%s/tokenizer.json", kind);
  char *text = read_all(path, &bytes), *at = strstr(text, old);
  char *changed = at ? malloc(bytes + strlen(new) + 1) : NULL;
  CHECK(changed != NULL);
  if (!changed) return;
  int count = sprintf(changed, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
  Tokenizer *t = tokenizer_read(path, changed, (size_t)count, why);
  CHECK(t == NULL);
  if (!strstr(why, wanted)) printf("%s\n", why);
  CHECK(strstr(why, wanted));
  tokenizer_free(t);
  free(text);
  free(changed);
}

static void test_refused(void) {
  TEST("what is not built is refused with its place in the JSON") {
    refused("gpt2", "\"version\":\"1.0\"", "\"version\":\"1.1\"", "version is not \"1.0\"");
    refused("gpt2", "\"truncation\":null", "\"truncation\":{}", "truncation is set");
    refused("gpt2", "\"dropout\":null", "\"dropout\":0.1", "model.dropout is set");
    refused("gpt2", "\"type\":\"BPE\"", "\"type\":\"Unigram\"", "model.type is \"Unigram\"");
    refused("qwen2", "{\"type\":\"NFC\"}", "{\"type\":\"NFKC\"}", "normalizer.type is \"NFKC\"");
    refused("qwen2", "\"Isolated\"", "\"Contiguous\"",
            "pre_tokenizer.pretokenizers[0].behavior is \"Contiguous\"");
    refused("qwen2", "\\\\p{N}|", "\\\\b|", "pretokenizers[0].pattern: the escape \\b at byte");
    refused("llama3", "\"type\":\"Split\"", "\"type\":\"Digits\"",
            "pre_tokenizer.pretokenizers[0].type is \"Digits\"");
    refused("llama3", "\"TemplateProcessing\"", "\"BertProcessing\"",
            "post_processor.processors[1].type is \"BertProcessing\"");
    refused("llama2", "\"ByteFallback\"", "\"CTC\"", "decoder.decoders[1].type is \"CTC\"");
    refused("llama2", "\"unk_token\":\"<unk>\"", "\"unk_token\":\"<un>\"", "model.unk_token");
    refused("mistral", "\"merges\":[[", "\"merges\":[[\"e\",\"zz\"],[",
            "\"zz\" is not in model.vocab");
    refused("mistral", "\"vocab\":{", "\"vocab\":{\"zzz\":5,", "have the same id 5");
    refused("mistral", "\"model\":", "\"extra\":1,\"model\":", "$.extra is not known");
    refused("mistral", "\"id\":1,", "\"id\":7,", "elsewhere");
    CHECK(tokenizer_open(SOURCE_FOLDER "/tests/tokenizers/none", why) == NULL);
    CHECK(tokenizer_open(SOURCE_FOLDER "/tests/tokenizers", why) == NULL &&
          strstr(why, "has no tokenizer.json"));
  }
}

int main(void) {
  TEST("ids equal Hugging Face's") {
    check_kind("gpt2", false); /* <pad> takes the spaces around it */
    check_kind("llama3", true);
    check_kind("qwen2", false);  /* NFC */
    check_kind("llama2", false); /* a blank in front */
    check_kind("mistral", false);
  }
  test_long();
  test_special();
  test_refused();
  CHECK_DONE();
}

/* foreign.c -- walks over a source as Lua would, and stops at the first thing that belongs to
 * another language. One small function for each habit looks at one token and its neighbours. */
#include "compiler/job/hints/foreign.h"

#include <ctype.h>
#include <string.h>

#include "compiler/job/units.h"

typedef struct Scan {
  Arena *arena;
  const char *at, *end;         /* this token */
  const char *before, *between; /* the token before it, and its end; NULL at the start */
  const char *line_start;
  int32_t line, depth; /* depth: brackets that are open */
  bool is_first_on_line;
} Scan;

typedef bool Habit(Scan *s, Foreign *found);

/* ---- tokens */

static bool is_name_start(char c) {
  return isalpha((unsigned char)c) || c == '_';
}

static bool is_word_byte(char c) {
  return isalnum((unsigned char)c) || c == '_';
}

static const char *skip_blanks(const char *p) {
  return p + strspn(p, " \t");
}

static size_t long_bracket(const char *p) {
  if (*p != '[') return 0;
  size_t equals = strspn(p + 1, "=");
  return p[1 + equals] == '[' ? equals + 2 : 0;
}

static const char *after_long_bracket(const char *p, size_t width) {
  for (p += width; *p; p++)
    if (*p == ']' && strspn(p + 1, "=") == width - 2 && p[width - 1] == ']') return p + width;
  return p;
}

static const char *after_quoted(const char *p) {
  char quote = *p++;
  while (*p && *p != quote && *p != '\n')
    p += *p == '\\' && p[1] ? 2 : 1;
  return *p == quote ? p + 1 : p;
}

static const char *after_token(const char *p) {
  size_t width = long_bracket(p);
  if (width > 0) return after_long_bracket(p, width);
  if (*p == '"' || *p == '\'') return after_quoted(p);
  if (isdigit((unsigned char)*p)) {
    const char *start = p;
    while (is_word_byte(*p) || *p == '.' ||
           ((*p == '+' || *p == '-') && p > start && (p[-1] == 'e' || p[-1] == 'E') &&
            start[1] != 'x'))
      p++;
    return p;
  }
  if (!is_name_start(*p)) return p + 1;
  while (is_word_byte(*p))
    p++;
  return p;
}

static void step_over(Scan *s, const char *to) {
  for (; s->at < to; s->at++)
    if (*s->at == '\n') {
      s->line++;
      s->line_start = s->at + 1;
      s->is_first_on_line = true;
    }
}

/* To the next token; false at the end of the text. */
static bool next_token(Scan *s) {
  for (;;) {
    const char *p = s->at;
    if (!*p) return false;
    if (isspace((unsigned char)*p)) {
      step_over(s, p + 1);
    } else if (p[0] == '-' && p[1] == '-') {
      size_t width = long_bracket(p + 2);
      step_over(s, width > 0 ? after_long_bracket(p + 2, width) : p + strcspn(p, "\n"));
    } else {
      s->end = after_token(p);
      return true;
    }
  }
}

static bool is(const Scan *s, const char *text) {
  return strncmp(s->at, text, strlen(text)) == 0;
}

static bool word_is(const char *at, const char *end, const char *word) {
  return (size_t)(end - at) == strlen(word) && memcmp(at, word, strlen(word)) == 0;
}

static bool is_word_of(const char *at, const char *end, const char *const *words) {
  for (; *words; words++)
    if (word_is(at, end, *words)) return true;
  return false;
}

static bool follows(const Scan *s, const char *any) {
  return s->before && s->between == s->before + 1 && strchr(any, *s->before);
}

/* Where a key of a table, or a statement, may begin. */
static bool begins_entry(const Scan *s) {
  return !s->before || follows(s, "{,;(") || (s->depth == 0 && s->is_first_on_line);
}

static bool say(Scan *s, int32_t length, Foreign *found, const char *message, const char *fix) {
  found->span.line = s->line;
  found->span.column = (int32_t)(s->at - s->line_start) + 1;
  found->span.length = length;
  found->message = message;
  found->fix = fix;
  return true;
}

static int32_t token_bytes(const Scan *s) {
  return (int32_t)(s->end - s->at);
}

static const char *text_of(const Scan *s) {
  return arena_copy_n(s->arena, s->at, (size_t)(s->end - s->at));
}

/* The rest of the line after `p`, without blanks around it. */
static const char *rest_of_line(Arena *arena, const char *p) {
  p = skip_blanks(p);
  size_t length = strcspn(p, "\r\n");
  while (length > 0 && isspace((unsigned char)p[length - 1]))
    length--;
  return arena_copy_n(arena, p, length);
}

/* ---- habits: letters and comments */

static bool habit_letter(Scan *s, Foreign *found) {
  int32_t length;
  if ((unsigned char)*s->at < 0x80) return false;
  if (!foreign_letter(s->arena, s->line_start, s->at, &length, found)) return false;
  return say(s, length, found, found->message, found->fix);
}

static bool habit_backtick(Scan *s, Foreign *found) {
  if (*s->at != '`') return false;
  size_t length = strcspn(s->at + 1, "`\r\n");
  const char *fix = arena_printf(s->arena, "\"%.*s\"", (int)length, s->at + 1);
  return say(s, (int32_t)length + 2, found, "text is written in quotes, not in backticks", fix);
}

static const char *lua_comment(Scan *s, const char *text) {
  return arena_printf(s->arena, "-- %s", rest_of_line(s->arena, text));
}

/* "#list" is Lua for its length: it has no blank, and is where a value may be. */
static bool habit_hash(Scan *s, Foreign *found) {
  if (*s->at != '#') return false;
  bool is_alone = s->at[1] == ' ' || s->at[1] == '\t' || s->at[1] == '#' || s->at[1] == '!';
  if (!is_alone && !s->is_first_on_line) return false;
  const char *text = s->at + strspn(s->at, "#!");
  return say(s, 1, found, "a comment begins with --, not with #", lua_comment(s, text));
}

/* "a // b" is an integer division in Lua, but two words in a row after // are a comment. */
static bool habit_slashes(Scan *s, Foreign *found) {
  if (!is(s, "//")) return false;
  const char *word = skip_blanks(s->at + 2), *p = word;
  while (is_word_byte(*p))
    p++;
  bool is_prose = p > word && *p == ' ' && is_word_byte(*skip_blanks(p));
  bool has_value = s->before && !follows(s, "{,;}(=");
  if (has_value && !s->is_first_on_line && !is_prose) return false;
  return say(s, 2, found, "a comment begins with --, not with //", lua_comment(s, s->at + 2));
}

static bool habit_slash_star(Scan *s, Foreign *found) {
  if (!is(s, "/*")) return false;
  const char *text = s->at + 2, *close = strstr(text, "*/");
  const char *fix = "--[[ ... ]]";
  if (close && memchr(text, '\n', (size_t)(close - text)) == NULL)
    fix = arena_printf(s->arena, "--[[%.*s]]", (int)(close - text), text);
  return say(s, 2, found, "a long comment is written between --[[ and ]], not /* and */", fix);
}

static bool habit_docstring(Scan *s, Foreign *found) {
  if (!is(s, "\"\"\"") && !is(s, "'''")) return false;
  const char *text = s->at + 3, *close = strstr(text, s->at[0] == '"' ? "\"\"\"" : "'''");
  const char *fix = "--[[ ... ]]";
  if (close && memchr(text, '\n', (size_t)(close - text)) == NULL)
    fix = s->depth > 0 ? arena_printf(s->arena, "[[%.*s]]", (int)(close - text), text)
                       : arena_printf(s->arena, "-- %.*s", (int)(close - text), text);
  return say(s, 3, found,
             "three quotes are Python's; a comment begins with --, a long text with [[", fix);
}

static bool habit_environment(Scan *s, Foreign *found) {
  if (*s->at != '$') return false;
  return say(s, 1, found,
             "$ reads nothing: a plan must not depend on who compiles it; write the value", NULL);
}

/* "8 sequences” : the text began with a plain quote and ends with a typographic one. */
static bool habit_half_quote(Scan *s, Foreign *found) {
  bool is_open = (*s->at == '"' || *s->at == '\'') && (s->end[-1] != *s->at || s->end == s->at + 1);
  for (const char *p = s->at + 1; is_open && p < s->end; p++) {
    int32_t length;
    Foreign letter = {0};
    if ((unsigned char)*p < 0xc0 || !foreign_letter(s->arena, s->line_start, p, &length, &letter) ||
        !strstr(letter.message, "quote;") || p == s->at + 1)
      continue;
    const char *fix = arena_printf(s->arena, "\"%.*s\"", (int)(p - s->at - 1), s->at + 1);
    return say(s, (int32_t)(p - s->at) + 1, found,
               "the text ends with a typographic quote; it must end with the one it begins with",
               fix);
  }
  return false;
}

/* ---- habits: keys */

/* `key = value` after the sign that replaces the "=". */
static const char *entry_text(Scan *s, const char *key, const char *value) {
  const char *text = foreign_value(s->arena, value);
  if (!text) text = *skip_blanks(value) == '{' ? "{" : "";
  return arena_printf(s->arena, "%s =%s%s", key, *text ? " " : "", text);
}

static const char *unquoted_key(Scan *s) {
  const char *name = s->at + 1;
  size_t length = (size_t)(s->end - s->at) - 2;
  bool is_name = length > 0 && is_name_start(*name);
  for (size_t i = 0; i < length; i++)
    is_name = is_name && is_word_byte(name[i]);
  return is_name ? arena_copy_n(s->arena, name, length)
                 : arena_printf(s->arena, "[%.*s]", (int)length + 2, s->at);
}

static bool habit_quoted_key(Scan *s, Foreign *found) {
  bool is_text = (*s->at == '"' || *s->at == '\'') && s->end - s->at >= 2 && s->end[-1] == *s->at;
  if (!is_text || !begins_entry(s)) return false;
  const char *sign = skip_blanks(s->end);
  bool is_colon = *sign == ':', is_equals = *sign == '=' && sign[1] != '=';
  if (!is_colon && !is_equals) return false;
  const char *message =
      is_colon ? "a key has no quotes, and = comes before its value, not :" : "a key has no quotes";
  return say(s, (int32_t)(sign + 1 - s->at), found, message,
             entry_text(s, unquoted_key(s), sign + 1));
}

/* "lr: 1e-3", "lr := 1e-3", "lr => 1e-3"; x:rep(3) calls a function and is Lua. */
static bool habit_colon(Scan *s, Foreign *found) {
  if (!is_name_start(*s->at) || !begins_entry(s)) return false;
  const char *sign = skip_blanks(s->end);
  bool is_colon = *sign == ':' && sign[1] != ':' && !is_name_start(sign[1]);
  bool is_arrow = sign[0] == '=' && sign[1] == '>', is_walrus = sign[0] == ':' && sign[1] == '=';
  if (!is_colon && !is_arrow) return false;
  size_t width = is_arrow || is_walrus ? 2 : 1;
  const char *message =
      arena_printf(s->arena, "= comes between a key and its value, not %.*s", (int)width, sign);
  const char *fix = entry_text(s, text_of(s), sign + width);
  if (s->depth == 0) {
    message =
        arena_printf(s->arena, "%s;\n    a job file is return job { key = value, ... }", message);
    fix = arena_printf(s->arena, "return job { %s", fix);
  }
  return say(s, (int32_t)(sign + (int)width - s->at), found, message, fix);
}

/* "train.steps = 5" and "validate-every = 5" as keys. */
static bool habit_compound_key(Scan *s, Foreign *found) {
  if (!is_name_start(*s->at) || s->depth == 0 || !follows(s, "{,;")) return false;
  const char *p = s->end;
  char joint = *p;
  if (joint != '.' && joint != '-') return false;
  while ((*p == joint && is_name_start(p[1])) || is_word_byte(*p))
    p++;
  const char *sign = skip_blanks(p);
  if (*sign != '=' || sign[1] == '=') return false;
  if (joint == '.') {
    const char *inner = arena_copy_n(s->arena, s->end + 1, (size_t)(p - s->end - 1));
    const char *fix =
        arena_printf(s->arena, "%s = { %s }", text_of(s), entry_text(s, inner, sign + 1));
    return say(s, (int32_t)(p - s->at), found,
               "a key is one word; a section holds its keys in braces", fix);
  }
  char *key = arena_copy_n(s->arena, s->at, (size_t)(p - s->at));
  for (char *c = key; *c; c++)
    if (*c == '-') *c = '_';
  return say(s, (int32_t)(p - s->at), found, "a key has _, not -, between its words",
             entry_text(s, key, sign + 1));
}

static bool habit_compared_key(Scan *s, Foreign *found) {
  const char *sign = skip_blanks(s->end);
  if (!is_name_start(*s->at) || s->depth == 0 || !follows(s, "{,;")) return false;
  if (sign[0] != '=' || sign[1] != '=') return false;
  return say(s, (int32_t)(sign + 2 - s->at), found,
             "one = gives a key its value; == compares two values",
             entry_text(s, text_of(s), sign + 2));
}

static bool habit_two_commas(Scan *s, Foreign *found) {
  if (*s->at != ',' || !follows(s, ",")) return false;
  return say(s, 1, found, "there are two commas in a row; delete one", NULL);
}

/* ---- habits: brackets */

static bool habit_json_file(Scan *s, Foreign *found) {
  if (s->before || (*s->at != '{' && *s->at != '[')) return false;
  return say(
      s, 1, found,
      "a job file is Lua, not JSON or TOML: return job { ... }, keys without quotes, = for :",
      "return job {");
}

static bool habit_list(Scan *s, Foreign *found) {
  if (*s->at != '[' || !follows(s, "=(")) return false;
  const char *fix = foreign_value(s->arena, s->at);
  return say(s, 1, found, "a list is written in braces: { a, b }", fix ? fix : "{");
}

/* optimizer = ("adamw", lr = 1e-3), and job(model = "gpt2"). */
static bool habit_parentheses(Scan *s, Foreign *found) {
  if (*s->at != '(') return false;
  const char *inner = skip_blanks(s->at + 1), *p = inner;
  bool is_call = s->before && word_is(s->before, s->between, "job");
  while (is_word_byte(*p))
    p++;
  p = skip_blanks(p);
  bool has_keys = is_name_start(*inner) && *p == '=' && p[1] != '=';
  if (!is_call && !follows(s, "=")) return false;
  const char *close = inner;
  int32_t commas = 0;
  for (; *close && *close != ')' && *close != '\n';
       close = *close == '"' || *close == '\'' ? after_quoted(close) : close + 1)
    commas += *close == ',';
  if (!has_keys && (is_call || commas == 0)) return false;
  const char *fix = "{";
  if (*close == ')')
    fix = arena_printf(
        s->arena, "%s{ %s }", is_call ? "job " : "",
        rest_of_line(s->arena, arena_copy_n(s->arena, inner, (size_t)(close - inner))));
  return say(s, 1, found, is_call ? "job takes a table, in braces" : "a table is written in braces",
             fix);
}

/* ---- habits: numbers and operators */

static bool is_quantity(const char *text) {
  double number;
  return units_count(text, &number) || units_bytes(text, &number) || units_duration(text, &number);
}

/* 10_000, 10k, 16GB, 30m, 90%, 8 sequences. */
static bool habit_number(Scan *s, Foreign *found) {
  static const char *const units[] = {"sequences", "sequence", "tokens", "samples", "steps",
                                      "epochs",    "epoch",    "step",   "token",   NULL};
  if (!isdigit((unsigned char)*s->at) || is(s, "0x") || is(s, "0X")) return false;
  const char *end = s->at + strspn(s->at, "0123456789.");
  const char *word = skip_blanks(s->end), *word_end = word;
  while (is_word_byte(*word_end))
    word_end++;
  if (is_word_of(word, word_end, units) &&
      *skip_blanks(word_end) != '=') /* else a comma is missing */
    return say(s, (int32_t)(word_end - s->at), found, "a number with a unit is written in quotes",
               arena_printf(s->arena, "\"%s %.*s\"", text_of(s), (int)(word_end - word), word));
  if (*s->end == '%' && strchr(",} \r\n", s->end[1]))
    return say(s, token_bytes(s) + 1, found, "a number with a unit is written in quotes",
               arena_printf(s->arena, "\"%s%%\"", text_of(s)));
  if (end == s->end || *end == 'e' || *end == 'E') return false;
  if (*end != '_')
    return is_quantity(text_of(s)) &&
           say(s, token_bytes(s), found, "a number with a unit is written in quotes",
               arena_printf(s->arena, "\"%s\"", text_of(s)));
  char *plain = arena_alloc(s->arena, (size_t)(s->end - s->at) + 1), *out = plain;
  for (const char *p = s->at; p < s->end; p++)
    if (*p != '_') *out++ = *p;
  return say(s, token_bytes(s), found, "numbers are written without _", plain);
}

static bool habit_operator(Scan *s, Foreign *found) {
  static const struct {
    const char *theirs, *ours, *message;
  } operators[] = {{"**", "^", "a power is written with ^: 2^10"},
                   {"!=", "~=", "not equal is written ~="},
                   {"&&", "and", "both is written and"},
                   {"||", "or", "either is written or"},
                   {"!", "not", "the opposite is written not"}};
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
    if (is(s, operators[i].theirs))
      return say(s, (int32_t)strlen(operators[i].theirs), found, operators[i].message,
                 operators[i].ours);
  if (*s->at == '?') return say(s, 1, found, "a choice is written: test and one or other", NULL);
  return false;
}

static bool habit_add_to(Scan *s, Foreign *found) {
  bool is_sign = strchr("+-*/", *s->at) && s->at[1] == '=' && s->at[2] != '=';
  bool is_name = s->before && is_name_start(*s->before);
  if (!is_sign || !is_name) return false;
  const char *name = arena_copy_n(s->arena, s->before, (size_t)(s->between - s->before));
  return say(s, 2, found, "Lua has no such sign; write the sum out",
             arena_printf(s->arena, "%s = %s %c %s", name, name, *s->at,
                          rest_of_line(s->arena, s->at + 2)));
}

/* f"{n} sequences" */
static bool habit_text_prefix(Scan *s, Foreign *found) {
  bool is_prefix = token_bytes(s) == 1 && strchr("fFrRbu", *s->at);
  if (!is_prefix || (*s->end != '"' && *s->end != '\'')) return false;
  bool has_braces = memchr(s->end, '{', (size_t)(after_quoted(s->end) - s->end)) != NULL;
  const char *text = arena_copy_n(s->arena, s->end, (size_t)(after_quoted(s->end) - s->end));
  return say(s, 1, found, "a text has no letter before it; values are joined: n .. \" sequences\"",
             has_braces ? NULL : text);
}

/* ---- habits: statements */

static bool habit_statement(Scan *s, Foreign *found) {
  static const char *const makers[] = {"let", "const", "var", "auto", "int", "float", NULL};
  static const char *const readers[] = {"import", "from", "using", "include", NULL};
  static const char *const makes[] = {"def", "func", "fn", NULL};
  const char *next = skip_blanks(s->end);
  if (!s->is_first_on_line || s->depth > 0 || !is_name_start(*next)) return false;
  const char *word_end = next;
  while (is_word_byte(*word_end))
    word_end++;
  if (word_is(next, word_end, "and") || word_is(next, word_end, "or")) return false;
  if (is_word_of(s->at, s->end, makers))
    return say(s, token_bytes(s), found, "a name of your own begins with local",
               arena_printf(s->arena, "local %s", rest_of_line(s->arena, next)));
  if (is_word_of(s->at, s->end, readers))
    return say(s, token_bytes(s), found,
               "a job file imports nothing: all that it may use is there; delete this line", NULL);
  if (is_word_of(s->at, s->end, makes))
    return say(s, token_bytes(s), found, "a function of your own: local function f(x) ... end",
               NULL);
  if (word_is(s->at, s->end, "retrun") || word_is(s->at, s->end, "retun"))
    return say(s, token_bytes(s), found, "the word is return", "return");
  return false;
}

/* for x in y:   if a:   elif a:   as in Python, whose blocks have a colon and no end. */
static bool habit_block(Scan *s, Foreign *found) {
  static const char *const words[] = {"for", "if", "while", "else", "elif", "try", "with", NULL};
  if (word_is(s->at, s->end, "elif"))
    return say(s, token_bytes(s), found, "the word is elseif", "elseif");
  if (!s->is_first_on_line || s->depth > 0 || !is_word_of(s->at, s->end, words)) return false;
  const char *line = rest_of_line(s->arena, s->at);
  if (line[strlen(line) - 1] != ':') return false;
  return say(s, token_bytes(s), found,
             "blocks end with the word end: for i = 1, n do ... end, if a then ... end", NULL);
}

static Habit *const habits[] = {
    habit_half_quote,  habit_environment, habit_block,        habit_letter,       habit_backtick,
    habit_json_file,   habit_docstring,   habit_hash,         habit_slashes,      habit_slash_star,
    habit_quoted_key,  habit_colon,       habit_compound_key, habit_compared_key, habit_two_commas,
    habit_list,        habit_parentheses, habit_number,       habit_operator,     habit_add_to,
    habit_text_prefix, habit_statement};

bool foreign_find(Arena *arena, const Source *source, int32_t first, int32_t last, Foreign *found) {
  if (!source->text) return false;
  Scan s = {.arena = arena,
            .at = source->text,
            .line_start = source->text,
            .line = 1,
            .is_first_on_line = true};
  if (*s.at == '#') s.at += strcspn(s.at, "\n"); /* an interpreter's line */
  while (next_token(&s) && s.line <= last) {
    for (size_t i = 0; s.line >= first && i < sizeof habits / sizeof *habits; i++)
      if (habits[i](&s, found)) {
        found->span.file = source->path;
        return true;
      }
    s.depth += *s.at == '{' || *s.at == '(' || *s.at == '[';
    s.depth -= *s.at == '}' || *s.at == ')' || *s.at == ']';
    s.before = s.at;
    s.between = s.end;
    s.is_first_on_line = false;
    step_over(&s, s.end);
  }
  return false;
}

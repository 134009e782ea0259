/* shell.c -- scripts and command lines: words, quotes, comments, variables and their sums. Nothing
 * is run: what needs more than that ($1, $(...), a value that is set under an if) makes a value
 * unread. */
#include "compiler/job/import/shell.h"

#include <ctype.h>
#include <string.h>

#include "compiler/job/import/sum.h"

enum { EXPANDED_MOST = 1 << 16 };

typedef struct Variable {
  const char *name;
  ShellWords values;
  Span at;
  bool is_unread, is_exported, is_used;
} Variable;

typedef struct Shell {
  Import *im;
  const char *at, *end, *line_start;
  int32_t line, depth; /* inside if, for, a function */
  ShellWords here;     /* what ends the documents (<<) that begin after this line */
  VEC(Variable)
  variables;
} Shell;

static Span place(const Shell *s) {
  return (Span){
      .file = s->im->file, .line = s->line, .column = (int32_t)(s->at - s->line_start) + 1};
}

static Variable *find(Shell *s, const char *name, size_t length) {
  for (int32_t i = s->variables.count; i-- > 0;) {
    Variable *known = &s->variables.at[i];
    if (strlen(known->name) == length && memcmp(known->name, name, length) == 0) return known;
  }
  return NULL;
}

static size_t name_length(const char *text) {
  if (!isalpha((unsigned char)*text) && *text != '_') return 0;
  size_t length = 0;
  while (isalnum((unsigned char)text[length]) || text[length] == '_')
    length++;
  return length;
}

/* ---- expansion of one word */

typedef struct Expansion {
  Shell *s;
  ShellWords *out;
  char *text; /* the word that is being made */
  size_t count, room;
  bool has_word, is_unread;
  Span at; /* of a word that a list of words has: where it is written; line 0: none */
} Expansion;

static void put(Expansion *x, const char *text, size_t length) {
  if (x->count + length > EXPANDED_MOST) {
    x->is_unread = true;
    return;
  }
  if (x->count + length + 1 > x->room) {
    x->room = (x->count + length + 1) * 2 + 64;
    x->text = arena_grow(x->s->im->c->arena, x->text, x->count, x->room);
  }
  memcpy(x->text + x->count, text, length);
  x->count += length;
  x->has_word = true;
}

static void end_word(Expansion *x, Span at) {
  if (!x->has_word) return;
  if (x->at.line > 0) at = x->at;
  x->at.line = 0;
  VEC_PUSH(x->s->im->c->arena, x->out,
           (ShellWord){arena_copy_n(x->s->im->c->arena, x->text ? x->text : "", x->count), at,
                       x->is_unread});
  x->count = 0;
  x->has_word = false;
}

static bool sum_name(void *data, const char *name, size_t length, double *number) {
  Variable *known = find(data, name, length);
  if (!known || known->is_unread || known->values.count != 1) return false;
  known->is_used = true;
  return sum_read_whole(known->values.at[0].text, NULL, NULL, number);
}

/* $((...)) at `at`; the end, or NULL. */
static const char *expand_sum(Expansion *x, const char *at, const char *end) {
  const char *close = at + 3;
  int depth = 2;
  for (; close < end && depth > 0; close++)
    depth += *close == '(' ? 1 : *close == ')' ? -1 : 0;
  if (depth > 0) return NULL;
  char *plain = arena_copy_n(x->s->im->c->arena, at + 3, (size_t)(close - at) - 5), *to = plain;
  for (const char *p = plain; *p; p++)
    if (*p != '$' && *p != '{' && *p != '}') *to++ = *p;
  *to = 0;
  double number;
  if (!sum_read_whole(plain, sum_name, x->s, &number)) return NULL;
  const char *text = arena_printf(x->s->im->c->arena, "%lld", (long long)number);
  put(x, text, strlen(text));
  return close;
}

/* Blanks part what is not quoted into words. */
static void put_parted(Expansion *x, const char *text, Span at) {
  while (*text) {
    size_t width = strcspn(text, " \t\n");
    if (width > 0) put(x, text, width);
    text += width;
    text += strspn(text, " \t\n");
    if (*text) end_word(x, at);
  }
}

/* A quoted list is as many words as it has values, none included. */
static void put_variable(Expansion *x, Variable *known, bool is_quoted, Span at) {
  known->is_used = true;
  x->is_unread |= known->is_unread;
  for (int32_t i = 0; i < known->values.count; i++) {
    const char *text = known->values.at[i].text;
    if (i > 0) {
      end_word(x, at);
      x->is_unread = known->is_unread;
    }
    x->is_unread |= known->values.at[i].is_unread;
    if (known->values.count > 1 && !x->has_word) x->at = known->values.at[i].at;
    if (is_quoted)
      put(x, text, strlen(text));
    else
      put_parted(x, text, at);
    if (x->out->count > KEYS_MOST) return;
  }
  if (known->values.count == 0) x->has_word = x->count > 0;
}

/* After the } of ${NAME:-"${OTHER}/$(date)"}: braces and quotes are inside it. */
static const char *brace_end(const char *at, const char *end) {
  for (int32_t depth = 1; at < end; at++) {
    if (*at == '\\' && at + 1 < end)
      at++;
    else if (*at == '{')
      depth++;
    else if (*at == '}' && --depth == 0)
      return at + 1;
  }
  return end;
}

/* Reads an expansion, which begins with $; returns its end. */
static const char *expand_dollar(Expansion *x, const char *at, const char *end, bool is_quoted,
                                 Span place_of_word) {
  if (strncmp(at, "$((", 3) == 0) {
    const char *after = expand_sum(x, at, end);
    if (after) return after;
  }
  bool has_brace = at[1] == '{';
  const char *name = at + (has_brace ? 2 : 1);
  size_t length = name_length(name);
  const char *after = name + length;
  if (has_brace && (strncmp(after, "[@]}", 4) == 0 || strncmp(after, "[*]}", 4) == 0)) after += 3;
  bool is_whole = length > 0 && (!has_brace || *after == '}');
  Variable *known = is_whole ? find(x->s, name, length) : NULL;
  if (known) {
    put_variable(x, known, is_quoted, place_of_word);
    return after + has_brace;
  }
  Variable *own = has_brace && strncmp(after, ":-", 2) == 0 ? find(x->s, name, length) : NULL;
  if (own && own->values.count == 1 && *own->values.at[0].text) {
    put_variable(x, own, is_quoted, place_of_word);
    return brace_end(after, end);
  }
  x->is_unread = true; /* $1, $(...), ${X:-1}, a name of the environment */
  if (at[1] == '(') {
    int depth = 0;
    const char *close = at + 1;
    for (; close < end; close++) {
      depth += *close == '(' ? 1 : *close == ')' ? -1 : 0;
      if (depth == 0) break;
    }
    after = close < end ? close + 1 : end;
  } else if (has_brace) {
    after = brace_end(after, end);
  } else if (length == 0) {
    after = at + (at + 1 < end && at[1] != '"' && at[1] != ' ' ? 2 : 1);
  }
  put(x, at, (size_t)(after - at));
  return after;
}

/* ---- words */

static bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

static void step(Shell *s) {
  if (*s->at == '\n') {
    s->line++;
    s->line_start = s->at + 1;
  }
  s->at++;
}

static void skip_to_word(Shell *s) {
  while (s->at < s->end) {
    if (is_blank(*s->at)) {
      s->at++;
    } else if (*s->at == '\\' && s->at[1] == '\n') {
      s->at++;
      step(s);
    } else if (*s->at == '\\' && s->at[1] == '\r' && s->at[2] == '\n') {
      s->at += 2;
      step(s);
    } else if (*s->at == '#') {
      while (s->at < s->end && *s->at != '\n')
        s->at++;
    } else {
      return;
    }
  }
}

static void run_to(Shell *s, const char *to) {
  while (s->at < to && s->at < s->end)
    step(s);
}

/* One word at s->at, expanded into `out`. False: a quote does not end. */
static bool read_word(Shell *s, ShellWords *out) {
  Expansion x = {.s = s, .out = out};
  Span at = place(s);
  bool is_quoted = false;
  while (s->at < s->end) {
    char c = *s->at;
    if (!is_quoted && (is_blank(c) || strchr("\n;&|<>()", c))) break;
    if (c == '"') {
      is_quoted = !is_quoted;
      x.has_word |= is_quoted;
      s->at++;
    } else if (c == '\'' && !is_quoted) {
      const char *close = memchr(s->at + 1, '\'', (size_t)(s->end - s->at - 1));
      if (!close) return error_at(s->im->c, at, "import-syntax", "this quote does not end");
      put(&x, s->at + 1, (size_t)(close - s->at - 1));
      run_to(s, close + 1);
    } else if (c == '\\' && s->at + 1 < s->end) {
      if (s->at[1] == '\n' && !is_quoted) break;
      if (s->at[1] != '\n') put(&x, s->at + 1, 1);
      s->at++;
      step(s);
    } else if (c == '$' && s->at + 1 < s->end) {
      run_to(s, expand_dollar(&x, s->at, s->end, is_quoted, at));
    } else if (c == '`') {
      const char *close = memchr(s->at + 1, '`', (size_t)(s->end - s->at - 1));
      x.is_unread = true;
      const char *stop = close ? close + 1 : s->end;
      put(&x, s->at, (size_t)(stop - s->at));
      run_to(s, stop);
    } else {
      put(&x, s->at, 1);
      step(s);
    }
    if (out->count > KEYS_MOST) return error_at(s->im->c, at, "limit", "more than 10,000 words");
  }
  if (is_quoted) return error_at(s->im->c, at, "import-syntax", "this quote does not end");
  end_word(&x, at);
  return true;
}

/* ---- assignments */

static void set_variable(Shell *s, const char *name, const ShellWords *values, Span at,
                         bool is_more) {
  Variable *known = find(s, name, strlen(name));
  if (is_more && known) {
    for (int32_t i = 0; i < values->count; i++)
      VEC_PUSH(s->im->c->arena, &known->values, values->at[i]);
    known->is_unread |= s->depth > 0;
    return;
  }
  bool is_changed = known && s->depth > 0;
  if (known) {
    known->values = *values;
    known->at = at;
    known->is_unread = is_changed;
    return;
  }
  VEC_PUSH(s->im->c->arena, &s->variables,
           (Variable){.name = name, .values = *values, .at = at, .is_unread = s->depth > 0});
}

/* NAME=value, NAME=(...), NAME+=(...) at s->at. 1: it was one, 0: it is none, -1: reported. */
static int take_assignment(Shell *s, bool is_exported) {
  size_t length = name_length(s->at);
  const char *sign = s->at + length;
  bool is_more = sign + 1 < s->end && sign[0] == '+' && sign[1] == '=';
  if (length == 0 || sign >= s->end || (*sign != '=' && !is_more)) return 0;
  Span at = place(s);
  const char *name = arena_copy_n(s->im->c->arena, s->at, length);
  ShellWords values = {0};
  s->at = sign + (is_more ? 2 : 1);
  if (s->at < s->end && *s->at == '(') {
    s->at++;
    for (;;) {
      skip_to_word(s);
      while (s->at < s->end && *s->at == '\n') {
        step(s);
        skip_to_word(s);
      }
      if (s->at >= s->end)
        return error_at(s->im->c, at, "import-syntax", "this ( is not closed"), -1;
      if (*s->at == ')') break;
      const char *before = s->at;
      if (!read_word(s, &values)) return -1;
      if (s->at == before) s->at++;
    }
    s->at++;
  } else {
    if (!read_word(s, &values)) return -1;
    if (values.count > 1) { /* NAME=$OTHER: blanks do not part the words of a value */
      const char *text = values.at[0].text;
      for (int32_t i = 1; i < values.count; i++)
        text = arena_printf(s->im->c->arena, "%s %s", text, values.at[i].text);
      values.at[0].text = text;
      values.count = 1;
    }
    if (values.count == 0) VEC_PUSH(s->im->c->arena, &values, (ShellWord){"", at, false});
  }
  set_variable(s, name, &values, at, is_more);
  Variable *known = find(s, name, strlen(name));
  known->is_exported |= is_exported;
  return 1;
}

/* ---- commands */

static bool is_one_of(const char *word, const char *list) {
  for (const char *at = list; *at; at += strspn(at, " ")) {
    size_t width = strcspn(at, " ");
    if (strlen(word) == width && strncmp(word, at, width) == 0) return true;
    at += width;
  }
  return false;
}

static size_t bare_word(const Shell *s) {
  size_t width = 0;
  while (s->at + width < s->end && !is_blank(s->at[width]) &&
         !strchr("\n;&|<>()\"'$", s->at[width]))
    width++;
  return width;
}

/* Words such as then and fi, before a command. */
static void take_structure(Shell *s) {
  for (;;) {
    skip_to_word(s);
    const char *word = arena_copy_n(s->im->c->arena, s->at, bare_word(s));
    if (is_one_of(word, "if for while until case {"))
      s->depth++;
    else if (is_one_of(word, "fi done esac }"))
      s->depth -= s->depth > 0;
    else if (!is_one_of(word, "then else elif do !"))
      return;
    if (is_one_of(word, "for case")) { /* a name, and words: not a command */
      while (s->at < s->end && *s->at != '\n' && *s->at != ';')
        step(s);
      return;
    }
    s->at += strlen(word);
  }
}

static bool is_line(const Shell *s, const char *end, const char *word) {
  const char *at = s->at;
  size_t width = strlen(word);
  while (at < end && *at == '\t') /* of <<-: tabs before its end word are ignored */
    at++;
  while (end > at && end[-1] == '\r')
    end--;
  return (size_t)(end - at) == width && memcmp(at, word, width) == 0;
}

/* After the end of a line: documents are no commands. */
static void skip_documents(Shell *s) {
  for (int32_t i = 0; i < s->here.count; i++)
    for (bool is_end = false; s->at < s->end && !is_end;) {
      const char *end = memchr(s->at, '\n', (size_t)(s->end - s->at));
      if (end == NULL) end = s->end;
      is_end = is_line(s, end, s->here.at[i].text);
      run_to(s, end + 1);
    }
  s->here.count = 0;
}

/* A redirection and its word. False: reported. */
static bool take_redirection(Shell *s) {
  ShellWords word = {0};
  bool is_document = s->at + 2 < s->end && s->at[0] == '<' && s->at[1] == '<' && s->at[2] != '<';
  while (s->at < s->end && strchr("<>&|", *s->at))
    s->at++;
  if (is_document && s->at < s->end && *s->at == '-') s->at++;
  skip_to_word(s);
  if (s->at < s->end && *s->at != '\n' && !read_word(s, &word)) return false;
  if (is_document && word.count > 0) VEC_PUSH(s->im->c->arena, &s->here, word.at[0]);
  return true;
}

/* The words of one command. False: reported. */
static bool read_command(Shell *s, ShellWords *words) {
  bool is_begin = true, is_exported = false;
  take_structure(s);
  for (;;) {
    skip_to_word(s);
    if (s->at >= s->end || strchr("\n;&|()", *s->at)) break;
    if (strchr("<>", *s->at)) {
      if (!take_redirection(s)) return false;
      continue;
    }
    if (is_begin) {
      int taken = take_assignment(s, is_exported);
      if (taken < 0) return false;
      if (taken > 0) continue;
      const char *word = arena_copy_n(s->im->c->arena, s->at, bare_word(s));
      if (is_one_of(word, "export declare local readonly env")) {
        is_exported = true;
        s->at += strlen(word);
        continue;
      }
    }
    is_begin = false;
    if (!read_word(s, words)) return false;
  }
  while (s->at < s->end && strchr("\n;&|()", *s->at)) {
    const bool is_end = *s->at == '\n';
    step(s);
    if (is_end) skip_documents(s);
  }
  return true;
}

static bool keep_variables(Shell *s) {
  for (int32_t i = 0; i < s->variables.count; i++) {
    Variable *known = &s->variables.at[i];
    bool is_known =
        words_find(s->im->c->arena, word_tool_find("variables"), known->name).list.count > 0 ||
        words_find(s->im->c->arena, word_tool_find("nccl"), known->name).list.count > 0;
    if (known->is_used && !is_known) continue;
    const char *text = known->values.count > 0 ? known->values.at[0].text : "";
    Leaf *leaf =
        leaf_add(s->im, known->name, known->is_unread ? LEAF_UNREAD : LEAF_TEXT, text, known->at);
    if (!leaf) return false;
    leaf->tool = word_tool_find("variables");
    if (!is_known)
      drop(leaf, HOW_DECLINED, "a variable of the script that its command does not use", false);
    if (is_known &&
        (known->is_unread || (known->values.count > 0 && known->values.at[0].is_unread)))
      drop(leaf, HOW_UNREAD, "its value is known only when the script runs", false);
  }
  return true;
}

bool read_shell(Import *im, const char *text, size_t size) {
  Shell s = {.im = im, .at = text, .end = text + size, .line_start = text, .line = 1};
  while (s.at < s.end) {
    ShellWords words = {0};
    if (!read_command(&s, &words)) return false;
    if (words.count > 0 && !command_leaves(im, &words)) return false;
  }
  return keep_variables(&s);
}

/* completion.c -- completion of shells. bash and zsh share one list of candidates for each place,
 * so that both complete alike. */
#include <string.h>

#include "compiler/job/hints/help.h"
#include "compiler/show/cli/cli.h"

static void put_verb_names(FILE *out) {
  for (int32_t i = 0; i < verb_count; i++)
    fprintf(out, "%s%s", i > 0 ? " " : "", verbs[i].name);
}

static void put_flag_names(const char *verb, FILE *out) {
  for (int32_t i = 0; i < flag_count; i++)
    if (flag_takes(&flags[i], verb)) fprintf(out, "%s ", flags[i].names);
  fputs("--help", out);
}

static void put_list(const TextList *list, const char *end, FILE *out) {
  for (int32_t i = 0; i < list->count; i++)
    fprintf(out, "%s%s%s", i > 0 ? " " : "", list->at[i], end);
}

/* A shell function that prints the candidates for `$1` = the verb, `$2` = the word before. */
static void put_candidates(Compile *c, FILE *out) {
  TextList keys = help_keys(c), known = help_words(c);
  fputs("_lockstep_words() {\n  case $2 in\n    -D|--against) echo '", out);
  put_list(&keys, "=", out);
  fputs("'; return ;;\n"
        "    --color) echo 'auto always never'; return ;;\n"
        "    --kernels) [ \"$1\" != run ] || { echo 'fast reference'; return; } ;;\n"
        "    --on) echo 'cpu cuda-host'; return ;;\n"
        "    --resume) echo 'auto never anyway'; return ;;\n"
        "    --completion) echo 'bash zsh'; return ;;\n"
        "  esac\n  case $1 in\n    '') echo '",
        out);
  put_verb_names(out);
  fputs("' ;;\n", out);
  for (int32_t i = 0; i < verb_count; i++) {
    fprintf(out, "    %s) echo '", verbs[i].name);
    put_flag_names(verbs[i].name, out);
    if (strcmp(verbs[i].name, "explain") == 0) fputc(' ', out), put_list(&keys, "", out);
    if (strcmp(verbs[i].name, "list") == 0) fprintf(out, " %s", help_kinds(c));
    if (strcmp(verbs[i].name, "help") == 0) {
      fputc(' ', out);
      put_verb_names(out);
      fputc(' ', out);
      put_list(&known, "", out);
    }
    fputs("' ;;\n", out);
  }
  fputs("  esac\n}\n", out);
}

/* Completes a verb's file: job files, plans, and folders on the way to them. */
static const char bash_rest[] =
    "_lockstep() {\n"
    "  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} verb=''\n"
    "  [ \"$COMP_CWORD\" -gt 1 ] && verb=${COMP_WORDS[1]}\n"
    "  local files=''\n"
    "  case $verb:$before in\n"
    "    *:-o|*:--svg|*:--resume|tokenize:*) files='*' ;;\n"
    "    *:-D|*:--against|*:--color|*:--kernels|*:--on|help:*|list:*) ;;\n"
    "    show:*|prove:*) files='!*.plan' ;;\n"
    "    run:*) files='!*.@(lua|plan)' ;;\n"
    "    ?*:*) files='!*.lua' ;;\n"
    "  esac\n"
    "  COMPREPLY=($(compgen -W \"$(_lockstep_words \"$verb\" \"$before\")\" -- \"$current\"))\n"
    "  if [ \"$files\" = '*' ]; then\n"
    "    COMPREPLY+=($(compgen -f -- \"$current\"))\n"
    "  elif [ -n \"$files\" ]; then\n"
    "    local extglob\n"
    "    extglob=$(shopt -p extglob)\n"
    "    shopt -s extglob\n"
    "    COMPREPLY+=($(compgen -f -X \"$files\" -- \"$current\") $(compgen -d -- \"$current\"))\n"
    "    $extglob\n"
    "  fi\n"
    "  [[ ${#COMPREPLY[@]} -eq 1 && ( ${COMPREPLY[0]} = *= || -d ${COMPREPLY[0]} ) ]] &&\n"
    "    compopt -o nospace\n"
    "  return 0\n"
    "}\n"
    "complete -o filenames -F _lockstep lockstep\n";

static const char zsh_rest[] =
    "_lockstep() {\n"
    "  local verb='' before=${words[CURRENT-1]}\n"
    "  (( CURRENT > 2 )) && verb=${words[2]}\n"
    "  local -a candidates=(${=\"$(_lockstep_words \"$verb\" \"$before\")\"})\n"
    "  case $before in\n"
    "    -D|--against) compadd -S '' -- $candidates; return ;;\n"
    "    -o|--svg|--resume) _files; return ;;\n"
    "  esac\n"
    "  compadd -- $candidates\n"
    "  case $verb in\n"
    "    show|prove) _files -g '*.plan' ;;\n"
    "    run) _files -g '*.(lua|plan)' ;;\n"
    "    check|compile|explain) _files -g '*.lua' ;;\n"
    "    tokenize) _files ;;\n"
    "  esac\n"
    "}\n"
    "_lockstep \"$@\"\n";

bool completion_print(Compile *c, const char *shell, FILE *out) {
  bool is_zsh = strcmp(shell, "zsh") == 0;
  if (!is_zsh && strcmp(shell, "bash") != 0) return false;
  fprintf(out, "%s# Completion of lockstep for %s, made by lockstep help --completion.\n",
          is_zsh ? "#compdef lockstep\n" : "", shell);
  put_candidates(c, out);
  fputs(is_zsh ? zsh_rest : bash_rest, out);
  return true;
}

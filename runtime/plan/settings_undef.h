/* Ends one use of settings.def. */
#undef COUNT
#undef U64
#undef U32
#undef F64
#undef FLAG
#undef WORD
#undef TEXT

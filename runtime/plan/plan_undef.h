/* Ends one use of plan.def. */
#undef TABLE
#undef END
#undef U32
#undef I32
#undef U64
#undef I64
#undef F64
#undef STR
#undef ENUM
#undef REF
#undef OPT
#undef RANGE
#undef FLAGS
#undef PAD

/* rom.S -- the first instructions of a machine without a system: into 64-bit mode, with AVX-512 and
 * tile registers, the program copied to memory, main called. rom.ld places it. */
  .section .rom16, "ax"
  .code16
  .globl start
start:
  cli
  movw $(descriptors - start), %bx
  lgdtl %cs:(%bx)
  movl $1, %eax
  movl %eax, %cr0
  ljmpl $8, $start32

  .align 16
segments:
  .quad 0
  .quad 0x00cf9a000000ffff # 8: code, 32 bits
  .quad 0x00cf92000000ffff # 16: data
  .quad 0x00af9a000000ffff # 24: code, 64 bits
descriptors:
  .word . - segments - 1
  .long segments

  .code32
start32:
  movw $16, %ax
  movw %ax, %ds
  movw %ax, %es
  movw %ax, %ss
  xorl %eax, %eax # page tables at 4 KiB: 4 GiB as they are, in pages of 1 GiB
  movl $0x1000, %edi
  movl $0x800, %ecx
  rep stosl
  movl $0x2003, 0x1000
  movl $0x00000083, 0x2000
  movl $0x40000083, 0x2008
  movl $0x80000083, 0x2010
  movl $0xc0000083, 0x2018
  movl $0x1000, %eax
  movl %eax, %cr3
  movl $0x40620, %eax # PAE, OSFXSR, OSXMMEXCPT, OSXSAVE
  movl %eax, %cr4
  movl $0xc0000080, %ecx # EFER: long mode
  rdmsr
  orl $0x100, %eax
  wrmsr
  movl $0x80000033, %eax # PG, NE, ET, MP, PE
  movl %eax, %cr0
  ljmpl $24, $start64

  .code64
start64:
  xorl %ecx, %ecx # XCR0: x87, SSE, AVX, AVX-512, tiles and their configuration
  xorl %edx, %edx
  movl $0x600e7, %eax
  xsetbv
  movl $0xc0000100, %ecx # the end of thread-local storage
  movl $0x90000, %eax
  wrmsr
  movq %rax, (%rax)
  movl $program_from, %esi
  movl $program_to, %edi
  movl $program_bytes, %ecx
  rep movsb
  movl $zeros_to, %edi
  movl $zeros_bytes, %ecx
  xorl %eax, %eax
  rep stosb
  movl $0x3000000, %esp
  movl $main, %eax
  call *%rax

  .section .reset, "ax"
  .code16
  jmp start
  .balign 16
  .section .note.GNU-stack, "", @progbits

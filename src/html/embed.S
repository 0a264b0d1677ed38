/* SPDX-License-Identifier: MIT */
/*
 * The page, as the build has made it, inside of thaw: the document with its style and its script,
 * and the engine that runs in it (gzip).
 */
	.section .rodata

	.macro embed name, file
	.globl \name
	.globl \name\()_end
	.balign 16
\name:
	.incbin "\file"
\name\()_end:
	.endm

	embed page_document, "page.html"
	embed page_engine, "thaw.wasm.gz"

	.section .note.GNU-stack, "", %progbits

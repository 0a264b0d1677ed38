// SPDX-License-Identifier: MIT
/* The tables of the C sources are bundled as text: one table per concept, for both languages. */
declare module "*.def" {
	const text: string;
	export default text;
}

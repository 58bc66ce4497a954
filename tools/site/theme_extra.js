// SPDX-License-Identifier: Apache-2.0
// The theme's rules for tables ask for this class, which Markdown does not give.
document.querySelectorAll('.rst-content table').forEach((table) => table.classList.add('docutils'));

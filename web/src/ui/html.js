// SPDX-License-Identifier: Apache-2.0
import htm from 'htm';
import { h } from 'preact';

export const html = htm.bind(h);

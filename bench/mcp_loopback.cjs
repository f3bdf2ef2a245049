// SPDX-License-Identifier: Apache-2.0
// mcp_loopback.cjs: preloaded into Node programs that would listen on every interface:
// a listen without a host, or with a wildcard, is bound to loopback.
'use strict';
const net = require('node:net');
const listen = net.Server.prototype.listen;
const wild = (host) => !host || host === '::' || host === '0.0.0.0';
net.Server.prototype.listen = function (...args) {
  if (args[0] !== null && typeof args[0] === 'object' && 'port' in args[0]) {
    if (wild(args[0].host)) args[0] = { ...args[0], host: '127.0.0.1' };
  } else if (/^\d+$/.test(String(args[0]))) {
    if (typeof args[1] !== 'string') args.splice(1, 0, '127.0.0.1');
    else if (wild(args[1])) args[1] = '127.0.0.1';
  }
  return listen.apply(this, args);
};

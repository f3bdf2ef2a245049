// SPDX-License-Identifier: Apache-2.0
// Preloaded into servers that would listen on every interface: loopback only,
// on a port the system chooses, which is printed.
const net = require('node:net');
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (...args) {
    const done = args.find((a) => typeof a === 'function');
    this.once('listening', () => console.error(`port ${this.address().port}`));
    return listen.call(this, { port: 0, host: '127.0.0.1' }, done);
};

// The request of the comparison in NestJS on Fastify. Decorators are called as functions: Node runs no TypeScript.
import 'reflect-metadata';
import { Controller, Get, Injectable, Module, Param, ParseIntPipe } from '@nestjs/common';
import { EventEmitter2, EventEmitterModule, OnEvent } from '@nestjs/event-emitter';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';

class Items {
  constructor(events) {
    this.events = events;
  }
  show(id) {
    return { id, name: 'Assam' };
  }
  async call(id) {
    const [name] = await this.events.emitAsync('bench:name', id);
    return { id, name };
  }
}
const method = (type, name) => [type.prototype, name, Object.getOwnPropertyDescriptor(type.prototype, name)];
Get(':id')(...method(Items, 'show'));
Param('id', ParseIntPipe)(Items.prototype, 'show', 0);
Get(':id/call')(...method(Items, 'call'));
Param('id', ParseIntPipe)(Items.prototype, 'call', 0);
Reflect.defineMetadata('design:paramtypes', [EventEmitter2], Items);
Controller('items')(Items);

class Names {
  async name(id) {
    return 'Assam';
  }
}
OnEvent('bench:name')(...method(Names, 'name'));
Injectable()(Names);

class Application {}
Module({ imports: [EventEmitterModule.forRoot()], controllers: [Items], providers: [Names] })(Application);

const application = await NestFactory.create(Application, new FastifyAdapter(), { logger: false });
await application.listen(0, '127.0.0.1');
console.log(await application.getUrl());

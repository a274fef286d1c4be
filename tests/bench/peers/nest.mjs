// The request of the comparison in NestJS on Fastify. Decorators are called as functions: Node runs no TypeScript.
import 'reflect-metadata';
import { Controller, Get, Module, Param, ParseIntPipe } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';

class Items {
  show(id) {
    return { id, name: 'Assam' };
  }
}
Get(':id')(Items.prototype, 'show', Object.getOwnPropertyDescriptor(Items.prototype, 'show'));
Param('id', ParseIntPipe)(Items.prototype, 'show', 0);
Controller('items')(Items);

class Application {}
Module({ controllers: [Items] })(Application);

const application = await NestFactory.create(Application, new FastifyAdapter(), { logger: false });
await application.listen(0, '127.0.0.1');
console.log(await application.getUrl());

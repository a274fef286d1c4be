import * as sdk from '@pointwork/guest';
import { Controller, Reply, RequestMapping, RequestMethod, type Context } from '@pointwork/guest';

/** The name is in a header, since replies to HEAD and CONNECT have no body. */
const named = (name: string): Reply => Reply.text(name, { headers: { 'x-handler': name } });

/** All decorators at one path. Each handler replies with its own name. */
@Controller('methods')
export class Methods {
  @sdk.All() all() { return named('all'); }
  @sdk.Get() get() { return named('get'); }
  @sdk.Post() post() { return named('post'); }
  @sdk.Put() put() { return named('put'); }
  @sdk.Patch() patch() { return named('patch'); }
  @sdk.Delete() delete() { return named('delete'); }
  @sdk.Head() head() { return named('head'); }
  @sdk.Options() options() { return named('options'); }
  @sdk.Trace() trace() { return named('trace'); }
  @sdk.Connect() connect() { return named('connect'); }
  @sdk.Purge() purge() { return named('purge'); }
  @sdk.Search() search() { return named('search'); }
  @sdk.Propfind() propfind() { return named('propfind'); }
  @sdk.Proppatch() proppatch() { return named('proppatch'); }
  @sdk.Mkcol() mkcol() { return named('mkcol'); }
  @sdk.Copy() copy() { return named('copy'); }
  @sdk.Move() move() { return named('move'); }
  @sdk.Lock() lock() { return named('lock'); }
  @sdk.Unlock() unlock() { return named('unlock'); }
  @sdk.Acl() acl() { return named('acl'); }
  @sdk.Report() report() { return named('report'); }

  @RequestMapping({ path: 'mapped', method: RequestMethod.ALL })
  @RequestMapping({ path: 'mapped', method: RequestMethod.GET })
  @RequestMapping({ path: 'mapped', method: RequestMethod.POST })
  @RequestMapping({ path: 'mapped', method: RequestMethod.PUT })
  @RequestMapping({ path: 'mapped', method: RequestMethod.PATCH })
  @RequestMapping({ path: 'mapped', method: RequestMethod.DELETE })
  @RequestMapping({ path: 'mapped', method: RequestMethod.HEAD })
  @RequestMapping({ path: 'mapped', method: RequestMethod.OPTIONS })
  @RequestMapping({ path: 'mapped', method: RequestMethod.TRACE })
  @RequestMapping({ path: 'mapped', method: RequestMethod.CONNECT })
  @RequestMapping({ path: 'mapped', method: RequestMethod.PURGE })
  @RequestMapping({ path: 'mapped', method: RequestMethod.SEARCH })
  @RequestMapping({ path: 'mapped', method: RequestMethod.PROPFIND })
  @RequestMapping({ path: 'mapped', method: RequestMethod.PROPPATCH })
  @RequestMapping({ path: 'mapped', method: RequestMethod.MKCOL })
  @RequestMapping({ path: 'mapped', method: RequestMethod.COPY })
  @RequestMapping({ path: 'mapped', method: RequestMethod.MOVE })
  @RequestMapping({ path: 'mapped', method: RequestMethod.LOCK })
  @RequestMapping({ path: 'mapped', method: RequestMethod.UNLOCK })
  @RequestMapping({ path: 'mapped', method: RequestMethod.ACL })
  @RequestMapping({ path: 'mapped', method: RequestMethod.REPORT })
  mapped(ctx: Context) {
    return named(ctx.method);
  }
}

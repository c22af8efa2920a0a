'use strict'
// Transactions of KafkaJS: each record and each offset is looked at, as readers of either isolation level find them.
//
// Of what confluent-kafka is asked, offsets of a generation that has passed are left out: KafkaJS does not say which member
// of a group the offsets of a transaction are from.

// Registers the cases. `helpers` are those of the suite.
module.exports = (add, { same, check, eventually, records, shown }) => {
  const transactional = (c, options = {}) =>
    c.connected(c.kafka.producer({ transactionalId: c.name('id'), maxInFlightRequests: 1, idempotent: true, ...options }))

  const two = messages => messages.map((m, i) => ({ ...m, partition: i % 2 }))

  // Sends within the transaction; gives what arrived by partition, as [offset, record].
  const send = async (to, topic, messages) => {
    const arrived = [[], []]
    const answers = await to.send({ topic, acks: -1, messages })
    for (const { partition, baseOffset, errorCode } of answers) {
      same('error', 0, errorCode)
      const sent = messages.filter(m => m.partition === partition)
      arrived[partition] = sent.map((m, i) => [String(Number(baseOffset) + i), shown(m)])
    }
    return arrived
  }

  const joined = (...parts) => [0, 1].map(p => parts.flatMap(part => part[p]).sort((a, b) => a[0] - b[0]))

  // Writes a last record to each partition, without a transaction, and compares all that readers find before it: those of
  // committed records get to it only when every transaction has ended.
  const compare = async (c, topic, committed, everything) => {
    const plain = await c.connected(c.kafka.producer())
    const last = await send(plain, topic, [0, 1].map(partition => ({ partition, key: null, value: 'the end', headers: {}, timestamp: '1' })))
    for (const [level, expected] of [['committed', committed], ['uncommitted', everything]]) {
      const found = [[], []]
      const isRead = () => found.every((list, p) => list.length > 0 && Number(list[list.length - 1][0]) >= Number(last[p][0][0]))
      const take = ({ partition, message }) => found[partition].push([message.offset, shown(message)])
      await c.consume(c.name(level), topic, take, isRead, { readUncommitted: level === 'uncommitted' })
      same(`records ${level}`, joined(expected, last), found)
    }
  }

  const failure = async call => {
    try {
      await call()
    } catch (error) {
      return error.type ?? error.name
    }
    throw new Error('the call succeeded')
  }

  add('transactions-commit-and-abort', async c => {
    const topic = await c.topic('t', 2)
    const producer = await transactional(c)
    const data = two(records(240))
    let [everything, committed] = [joined(), joined()]
    for (let round = 0; round < 12; round++) {
      const transaction = await producer.transaction()
      const part = data.slice(round * 20, round * 20 + 20)
      const arrived = joined(await send(transaction, topic, part.slice(0, 10)), await send(transaction, topic, part.slice(10)))
      everything = joined(everything, arrived)
      if (round % 3 === 2) {
        await transaction.abort()
      } else {
        await transaction.commit()
        committed = joined(committed, arrived)
      }
      same('it is over', false, transaction.isActive())
      same('used again', 'KafkaJSNonRetriableError', await failure(() => send(transaction, topic, part)))
    }
    // One without anything in it.
    await (await producer.transaction()).commit()
    await (await producer.transaction()).abort()
    c.line(`first offsets ${everything[0].filter((_, i) => i % 10 === 0).map(one => one[0])}`)
    await compare(c, topic, committed, everything)
  })

  add('transactions-open', async c => {
    const topic = await c.topic('t', 2)
    const producer = await transactional(c)
    const plain = await c.connected(c.kafka.producer())
    const before = await send(plain, topic, two(records(8)))
    const transaction = await producer.transaction()
    const opened = await send(transaction, topic, two(records(8)))
    const behind = await send(plain, topic, two(records(8)))
    const [seen, readable] = [[[], []], [[], []]]
    const into = list => ({ partition, message }) => list[partition].push([message.offset, shown(message)])
    // Who reads uncommitted records is at the end, who reads committed ones before the transaction.
    await c.consume(c.name('committed'), topic, into(readable), () => readable.every(list => list.length >= 4))
    const everything = joined(before, opened, behind)
    await c.consume(c.name('uncommitted'), topic, into(seen), () => seen.every(list => list.length >= 12), { readUncommitted: true })
    same('uncommitted', everything, seen)
    same('committed', before, readable)
    await transaction.commit()
    await eventually('the rest is read', 20_000, () => readable.every(list => list.length >= 12))
    same('committed in the end', everything, readable)
  })

  add('transactions-offsets', async c => {
    const topic = await c.topic('t', 2)
    const group = c.name('g')
    const admin = await c.admin()
    const producer = await transactional(c)
    const committed = async () => {
      const [found] = await admin.fetchOffsets({ groupId: group, topics: [topic] })
      return found.partitions.sort((a, b) => a.partition - b.partition).map(p => p.offset)
    }
    let everything = joined()
    let kept = joined()
    for (const [number, isCommitted, wanted] of [[5, true, 5], [7, false, 5], [9, true, 9]]) {
      const transaction = await producer.transaction()
      const arrived = await send(transaction, topic, two(records(4)))
      const partitions = [{ partition: 0, offset: String(number) }, { partition: 1, offset: String(number + 100) }]
      await transaction.sendOffsets({ consumerGroupId: group, topics: [{ topic, partitions }] })
      await (isCommitted ? transaction.commit() : transaction.abort())
      everything = joined(everything, arrived)
      kept = isCommitted ? joined(kept, arrived) : kept
      const expected = JSON.stringify([String(wanted), String(wanted + 100)])
      await eventually(`offsets ${expected}`, 20_000, async () => JSON.stringify(await committed()) === expected)
      c.line(`after ${number}: ${expected}`)
    }
    // Offsets alone. KafkaJS does not try again while the markers of the one before are written, so that must be over.
    await compare(c, topic, kept, everything)
    const transaction = await producer.transaction()
    const topics = [{ topic, partitions: [{ partition: 0, offset: '11' }] }]
    await transaction.sendOffsets({ consumerGroupId: group, topics })
    await transaction.commit()
    await eventually('the offset alone', 20_000, async () => JSON.stringify(await committed()) === '["11","109"]')
  })

  add('transactions-copied-by-a-group', async c => {
    const [source, sink, group] = [await c.topic('from', 2), await c.topic('to', 2), c.name('g')]
    const plain = await c.connected(c.kafka.producer())
    const numbers = 400
    for (let from = 0; from < numbers; from += 20) {
      const messages = [...Array(20).keys()].flatMap(i => [0, 1].map(partition => ({ partition, value: String(from + i) })))
      await plain.send({ topic: source, messages })
    }
    let [copied, aborted] = [0, 0]
    // The second takes over from the first.
    for (const wanted of [numbers, 2 * numbers]) {
      const producer = await transactional(c)
      const consumer = await c.connected(
        c.kafka.consumer({ groupId: group, sessionTimeout: 10_000, heartbeatInterval: 200, maxWaitTimeInMs: 50, maxBytesPerPartition: 700 })
      )
      let [round, broken] = [0, null]
      await consumer.subscribe({ topics: [source], fromBeginning: true })
      const eachBatch = async ({ batch, resolveOffset, isRunning, isStale }) => {
        if (!isRunning() || isStale() || copied >= wanted) return
        const transaction = await producer.transaction()
        const messages = batch.messages.map(m => ({ partition: batch.partition, value: m.value }))
        await transaction.send({ topic: sink, messages })
        const offset = String(Number(batch.lastOffset()) + 1)
        await transaction.sendOffsets({ consumerGroupId: group, topics: [{ topic: source, partitions: [{ partition: batch.partition, offset }] }] })
        if (round++ % 3 === 1) {
          await transaction.abort()
          aborted++
          consumer.seek({ topic: source, partition: batch.partition, offset: batch.firstOffset() })
        } else {
          await transaction.commit()
          copied += messages.length
          resolveOffset(batch.lastOffset())
        }
      }
      consumer.on(consumer.events.CRASH, ({ payload }) => (broken = payload.error))
      await consumer.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch })
      await eventually(`${wanted} are copied`, 60_000, () => {
        if (broken) throw broken
        return copied >= wanted
      })
      await consumer.disconnect()
      await producer.disconnect()
    }
    check(aborted > 0, 'no transaction was aborted')
    const found = [[], []]
    const isRead = () => found[0].length + found[1].length >= 2 * numbers
    await c.consume(c.name('reader'), sink, ({ partition, message }) => found[partition].push(Number(message.value)), isRead)
    for (const p of [0, 1]) same(`values of ${p}`, [...Array(numbers).keys()], found[p])
    const admin = await c.admin()
    const offsets = await admin.fetchOffsets({ groupId: group, topics: [source] })
    same('offsets', [String(numbers), String(numbers)], offsets[0].partitions.map(p => p.offset))
  })

  add('transactions-fencing', async c => {
    const topic = await c.topic('t', 2)
    const first = await transactional(c, { retry: { retries: 2, initialRetryTime: 50 } })
    const left = await first.transaction()
    const lost = await send(left, topic, two(records(8)))
    const second = await transactional(c)
    const transaction = await second.transaction()
    const kept = await send(transaction, topic, two(records(8)))
    c.line(`the first sends: ${await failure(() => send(left, topic, two(records(8))))}`)
    c.line(`the first commits: ${await failure(() => left.commit())}`)
    await transaction.commit()
    await compare(c, topic, kept, joined(lost, kept))
  })

  add('transactions-abortable-error', async c => {
    const topic = await c.topic('t', 2)
    const small = await c.topic('small', 1, [{ name: 'max.message.bytes', value: '1000' }])
    const producer = await transactional(c)
    const left = await producer.transaction()
    const lost = await send(left, topic, two(records(8)))
    c.line(`too large: ${await failure(() => left.send({ topic: small, messages: [{ value: Buffer.alloc(2000, 'x') }] }))}`)
    await left.abort()
    const transaction = await producer.transaction()
    const kept = await send(transaction, topic, two(records(8)))
    await transaction.commit()
    await compare(c, topic, kept, joined(lost, kept))
  })

  add('transactions-timeout', async c => {
    const topic = await c.topic('t', 2)
    const producer = await transactional(c, { transactionTimeout: 2000, retry: { retries: 2, initialRetryTime: 50 } })
    const left = await producer.transaction()
    const lost = await send(left, topic, two(records(8)))
    // It goes by when the coordinator has aborted what is before it.
    await compare(c, topic, joined(), lost)
    c.line(`the commit: ${await failure(() => left.commit())}`)
    const another = await transactional(c)
    const transaction = await another.transaction()
    const kept = await send(transaction, topic, two(records(8)))
    await transaction.commit()
    same('the next offsets', ['6', '6'], kept.map(list => list[0][0]))
  })
}

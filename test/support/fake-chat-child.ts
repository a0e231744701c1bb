import { startFakeChat } from './fake-chat.ts';

// Start a quoting chat server, and print its URL. It exits with its parent.
const { url } = await startFakeChat('openai');
process.stdout.write(url);

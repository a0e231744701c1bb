import { startFakeChat } from './fake-chat.ts';

// Start a chat server that quotes, and print its URL. It ends with its parent.
const { url } = await startFakeChat('openai');
process.stdout.write(url);
